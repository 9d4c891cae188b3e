"""A mutant put into a running process: the code of its function in place of that of the function that is there.

Whatever refers to the function, by whatever name it imported it, runs the mutant then. Nothing is imported anew.
"""

import ast
import functools
import importlib
import sys
from collections.abc import Mapping
from types import CodeType, FunctionType

from tests.mutation.mutants import ROOT, Mutant, text_of


def swap(mutant: Mutant) -> None:
    """Raises `LookupError` where the function cannot be found in its module, or is none that Python runs."""
    module, name = mutant.name.module, mutant.name.function
    function = function_of(module, name)
    function.__code__ = code_of(mutant.source(), module, name)
    # What its parameters are where nobody says is worked out as the module is read.
    anew = dict(vars(importlib.import_module(module_name(module))))
    exec(compile(mutant.source(), str(ROOT / module), "exec", dont_inherit=True), anew)
    other = _function_in(anew, module, name)
    function.__defaults__, function.__kwdefaults__ = other.__defaults__, other.__kwdefaults__


def rebind(mutant: Mutant) -> None:
    """The constants of a module as the mutant makes them, wherever they were imported by their name."""
    module = importlib.import_module(module_name(mutant.name.module))
    anew = dict(vars(module))
    exec(compile(mutant.source(), str(ROOT / mutant.name.module), "exec", dont_inherit=True), anew)
    for name in constants(mutant.source()):
        before = vars(module).get(name)
        for other in list(sys.modules.values()):
            if vars(other).get(name) is before if hasattr(other, "__dict__") else False:
                setattr(other, name, anew[name])


def constants(source: str) -> dict[str, tuple[int, int]]:
    """What the module's own lines assign, with the first and last of its lines."""
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    found[target.id] = (node.lineno, node.end_lineno or node.lineno)
    return found


def is_of_a_constant(mutant: Mutant) -> bool:
    """Whether it changes what a name of the module stands for, and no function."""
    there = constants(text_of(mutant.name.module)).values()
    return any(first <= mutant.line <= last for first, last in there) and "lambda" not in mutant.name.before


def function_of(module: str, name: str) -> FunctionType:
    """The function below its decorators, property or cache."""
    return _function_in(vars(importlib.import_module(module_name(module))), module, name)


def module_name(module: str) -> str:
    return module.removesuffix(".py").replace("/", ".")


def code_of(source: str, module: str, name: str) -> CodeType:
    """The code of a function of this text. Raises `LookupError` where it has none of that name."""
    code = compile(source, str(ROOT / module), "exec", dont_inherit=True)
    for part in name.split("."):
        found = [c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == part]
        if not found:
            raise LookupError(f"no {name} in {module}")
        code = found[-1]
    return code


def _function_in(names: Mapping[str, object], module: str, name: str) -> FunctionType:
    outer, *inner = name.split(".")
    here: object = names[outer]
    for part in inner:
        here = vars(here)[part]
    while not isinstance(here, FunctionType) or here.__code__.co_filename != str(ROOT / module):
        below = _inside(here)
        if below is None:
            raise LookupError(f"{name} of {module} is {here!r}, and no function can be seen in it")
        here = below
    return here


def _inside(wrapper: object) -> object | None:
    if isinstance(wrapper, property):
        return wrapper.fget
    if isinstance(wrapper, functools.cached_property):
        return wrapper.func
    if isinstance(wrapper, staticmethod | classmethod):
        return wrapper.__func__
    return getattr(wrapper, "__wrapped__", None)
