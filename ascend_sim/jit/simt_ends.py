# SPDX-License-Identifier: MIT
"""Which threads of a SIMT function have come to its end, and which have returned before? ASC_SIMT_END in front of its last brace counts the former.

A barrier that some threads never reach is a fault if they have passed it by (csrc/isa/simt_launch.h, note "Barriers").
Insertions stay within their lines. A function whose braces cannot be told, because of #if in it, is left as it is: nothing is said of its threads then.
"""

import re

_TOKEN = re.compile(r"""
    //(?:\\\n|[^\n])* | /\*.*?\*/                                   # comments
  | R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)"          # strings and characters
  | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
  | \b\d(?:[\w.]|'\w)*                                              # numbers, with their separators
  | (?P<function>\b__simt_vf__\b)
  | (?P<condition>^[ \t]*\#[ \t]*(?:if|ifdef|ifndef|elif|else|endif)\b)
  | (?P<mark>[(){};])
""", re.VERBOSE | re.DOTALL | re.MULTILINE)
_END = "ASC_SIMT_END; "


def mark(text: str) -> str:
    """The text with the end of each SIMT function marked."""
    if "__simt_vf__" not in text:
        return text
    ends, in_function, parentheses, braces = [], False, 0, 0
    for token in _TOKEN.finditer(text):
        what = token["mark"]
        if token["function"]:
            in_function, parentheses, braces = True, 0, 0
        elif token["condition"]:
            in_function = in_function and not braces
        elif not in_function or not what:
            continue
        elif what in "()":
            parentheses += 1 if what == "(" else -1
        elif what == "{":
            braces += 1
        elif what == "}":
            braces -= 1
            if braces <= 0:
                if braces == 0 and parentheses == 0:
                    ends.append(token.start())
                in_function = False
        elif not braces and not parentheses:        # a declaration
            in_function = False
    for end in reversed(ends):
        text = text[:end] + _END + text[end:]
    return text
