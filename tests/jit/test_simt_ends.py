# SPDX-License-Identifier: MIT
"""Is the end of each SIMT function found, and nothing else taken for one?"""

import pytest
from ascend_sim.jit.simt_ends import mark

END = "ASC_SIMT_END; "


@pytest.mark.parametrize("before, after", [
    ("__simt_vf__ void f(int x) { if (x) { g(); } ", "}"),
    ("__simt_vf__ __launch_bounds__(128) inline void f(__ubuf__ float* a) {\n  a[threadIdx.x] = 1;\n", "}\n\nvoid other() { int x = 0; }\n"),
    ("__simt_vf__ auto f(int (*g)(int)) -> void { g(1); ", "} int y;"),
    ('__simt_vf__ void f() { printf("} %d\\"}", 1\'000\'000); char c = \'}\'; // }\n/* } */ auto s = R"x(} )" })x"; ', "}"),
    ("#define SIMT(name, ...) \\\n    __simt_vf__ void name() { \\\n __VA_ARGS__ \\\n ", "} \\\n    void name##_call() { name(); }\nint x;\n"),
    ("#if A\n#define B\n#endif\n__simt_vf__ void f() { ", "}"),
    ("__simt_vf__ void declared(int);\ntemplate <class T> __simt_vf__ void f(T x) { x.run({1, 2}); ", "}"),
    ("__simt_vf__ void f() { if (x) return; auto g = [](int i) { return i; }; ", "}"),
])
def test_the_last_brace_of_a_function_is_marked(before, after):
    assert mark(before + after) == before + END + after


def test_every_function_is_marked():
    text = "__simt_vf__ void f() { a(); }\n__simt_vf__ void g() { b(); }\n"
    assert mark(text).replace(END, "") == text and mark(text).count(END) == 2


@pytest.mark.parametrize("text", [
    "void f() { }", "// __simt_vf__ void f() { }", 's = "__simt_vf__ void f() { }";', "__simt_vf__ void f();", "#define __simt_callee__\nvoid f() {}",
    "__simt_vf__ void f() {\n#if A\n if (x) {\n#else\n if (y) {\n#endif\n }\n}\n", "__simt_vf__ void f() { g(;", "__simt_vf__", "__simt_vf__ }", "__simt_vf__ void f(}) {}",
])
def test_where_there_is_none_nothing_changes(text):
    assert mark(text) == text
