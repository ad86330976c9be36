# SPDX-License-Identifier: MIT
"""The device linker that TileLang runs after bisheng: a container needs no linking, so its one input becomes the output."""

import sys
from pathlib import Path

_WITH_VALUE = ("-m", "-Ttext", "-o")


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    inputs, values = [], {}
    words = iter(arguments)
    for word in words:
        if word in _WITH_VALUE:
            values[word] = next(words, "")
        elif not word.startswith("-"):
            inputs.append(word)
    if len(inputs) != 1 or not values.get("-o"):
        print(f"error: ld.lld: {len(inputs)} inputs, output {values.get('-o')!r}; this stand-in of ascend-sim passes one container on.", file=sys.stderr)
        return 1
    try:
        Path(values["-o"]).write_bytes(Path(inputs[0]).read_bytes())
    except OSError as error:
        print(f"error: ld.lld: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
