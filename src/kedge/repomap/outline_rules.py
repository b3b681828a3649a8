"""Patterns that begin a definition, by language, each with its kind. These kinds are special:

end     closes all enclosing definitions
opaque  not a definition; definitions inside are local
same    has the kind of the definition before, such as `and` in OCaml
"""

from __future__ import annotations

_KEYS = r"(?!(?:if|for|while|switch|catch|return|else|new|throw|await|assert|super|this)\b)"

_DART_TYPE = r"(?:[\w<>?,.\[\]]+[ \t]+){1,3}"
_DART_BODY = r"(?=[ \t]*(?:=>|\([^;\n]*$|\([^\n]*\)[ \t]*(?:async\*?[ \t]*)?(?:=>|:)))"

_D_MARKS = r"(?:(?:[a-z]+|@\w+|(?:extern|align|package|deprecated)[ \t]*\([^()\n]*\))[ \t]+)*"
_D_KEYS = rf"{_KEYS}(?!(?:alias|debug|foreach|mixin|version)\b)"
_D_TYPE = r"(?:[\w.@!*\[\]]++(?:\([^()\n]*\)[\[\]*]*)?[ \t]+){1,6}"
_OCAML_PARAMETERS = r"(?:[+-]?'\w+[ \t]+|\([^()\n]*\)[ \t]+)?"
_PONY_MARKS = r"(?:\\[^\\\n]*\\[ \t]*)?(?:(?:iso|trn|ref|val|box|tag)[ \t]+)?@?"
_LISP_NAME = r"(?P<name>[^\s()\[\]\"';]+)"


def _forms(**words: str) -> tuple[tuple[str, str], ...]:
    """Rules for Lisp forms that begin a line, by kind: `(defun name`, `(defstruct (name`."""
    quotes = r"[ \t]+(?:\(setf[ \t]+|[\"'(]|#?:){0,2}"
    return tuple(
        (kind, rf"\((?:[\w.-]+:)?(?:{choice}){quotes}{_LISP_NAME}")
        for kind, choice in words.items()
    )


RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "shell": (
        ("function", r"[ \t]*function[ \t]+(?P<name>[\w:.+@-]+)[ \t]*(?:\([ \t]*\))?[ \t]*\{?"),
        ("function", r"[ \t]*(?P<name>[\w:.+@-]+)[ \t]*\([ \t]*\)[ \t]*(?:\{|\(|$)"),
    ),
    "html": (
        ("heading", r"[^\n]*?<(?:title|h[1-3])\b[^<>\n]{0,200}>[ \t]*(?P<name>[^<>\n]+)"),
        (
            "element",
            r"""[^\n]*?<\w[\w-]*\b[^<>\n]{0,200}?(?<![\w-])id=["'](?P<name>[\w:.-]+)["']""",
        ),
    ),
    "css": (
        ("variable", r"[ \t]*(?P<name>--[\w-]+)[ \t]*:"),
        ("rule", r"@(?:keyframes|layer|property|container)[ \t]+(?P<name>[-\w.]+)"),
        ("selector", r"(?P<name>[.#:\w\[*][^{}@;\n]*?)[ \t]*[{,]"),
    ),
    "scss": (
        ("variable", r"(?P<name>[$@][\w-]+)[ \t]*:"),
        ("variable", r"[ \t]*(?P<name>--[\w-]+)[ \t]*:"),
        ("function", r"[ \t]*@(?:mixin|function)[ \t]+(?P<name>[\w-]+)"),
        ("rule", r"@keyframes[ \t]+(?P<name>[-\w]+)"),
        ("selector", r"(?P<name>[.#:%\w\[*][^{}@;\n]*?)[ \t]*[{,]"),
    ),
    "sql": tuple(
        (
            kind,
            rf"[ \t]*create\s+(?:or\s+replace\s+)?(?:\w+\s+){{0,2}}?{words}\s+"
            r"(?:concurrently\s+)?(?:if\s+not\s+exists\s+)?(?P<name>[\w.\"`\[\]$]+)",
        )
        for kind, words in (
            ("table", "table"),
            ("view", "view"),
            ("function", "(?:function|procedure)"),
            ("type", "(?:type|domain)"),
            ("trigger", "trigger"),
            ("index", "index"),
        )
    ),
    "protobuf": (
        ("interface", r"service[ \t]+(?P<name>\w+)"),
        ("class", r"[ \t]*message[ \t]+(?P<name>\w+)"),
        ("enum", r"[ \t]*enum[ \t]+(?P<name>\w+)"),
        ("method", r"[ \t]*rpc[ \t]+(?P<name>\w+)"),
    ),
    "graphql": (
        ("type", r"(?:extend[ \t]+)?(?:type|input|union|scalar)[ \t]+(?P<name>\w+)"),
        ("interface", r"(?:extend[ \t]+)?interface[ \t]+(?P<name>\w+)"),
        ("enum", r"(?:extend[ \t]+)?enum[ \t]+(?P<name>\w+)"),
        ("function", r"(?:query|mutation|subscription|fragment)[ \t]+(?P<name>\w+)"),
        ("directive", r"directive[ \t]+@(?P<name>\w+)"),
    ),
    "terraform": (
        (
            "resource",
            r"""(?:resource|data)[ \t]+"(?P<name>[\w.-]+)"[ \t]+"(?P<tail>[\w.-]+)"[ \t]*\{""",
        ),
        ("module", r"""(?:module)[ \t]+"(?P<name>[\w.-]+)"[ \t]*\{"""),
        ("variable", r"""(?:variable|output|provider)[ \t]+"(?P<name>[\w.-]+)"[ \t]*\{"""),
    ),
    "elixir": (
        ("module", r"[ \t]*(?:defmodule|defprotocol)[ \t]+(?P<name>[\w.]+)"),
        ("module", r"[ \t]*defimpl[ \t]+(?P<name>[\w.]+)"),
        (
            "function",
            r"[ \t]*(?:def|defp|defmacrop?|defguardp?|defdelegate)[ \t]+(?P<name>\w+[?!]?)",
        ),
    ),
    "erlang": (
        ("module", r"-module\((?P<name>\w+)\)"),
        ("struct", r"-record\((?P<name>\w+)"),
        ("function", r"(?P<name>[a-z]\w*)\([^\n]*->"),
    ),
    "dart": (
        (
            "class",
            r"(?:(?:abstract|base|final|sealed|interface|mixin)[ \t]+)*"
            r"(?:class|mixin|extension(?:[ \t]+type)?)[ \t]+(?P<name>\w+)",
        ),
        ("enum", r"enum[ \t]+(?P<name>\w+)"),
        ("type", r"typedef[ \t]+(?P<name>\w+)"),
        ("function", rf"{_KEYS}{_DART_TYPE}{_KEYS}(?P<name>\w+)(?:<[^<>\n]*>)?{_DART_BODY}"),
        (
            "method",
            rf"[ ]{{2}}{_KEYS}{_DART_TYPE}(?:[gs]et[ \t]+)?{_KEYS}(?P<name>\w+){_DART_BODY}",
        ),
        ("method", rf"[ ]{{2}}(?:const |factory )?(?P<name>[A-Z]\w*(?:\.\w+)?){_DART_BODY}"),
        ("constant", r"(?:const|final)[ \t]+(?:[\w<>?,]+[ \t]+)?(?P<name>\w+)[ \t]*="),
    ),
    "haskell": (
        ("module", r"module[ \t]+(?P<name>[\w.]+)"),
        ("type", r"(?:data|newtype|type)[ \t]+(?:family[ \t]+|instance[ \t]+)?(?P<name>[A-Z]\w*)"),
        ("trait", r"class[ \t]+(?:[^\n]*=>[ \t]*)?(?P<name>[A-Z]\w*)"),
        ("function", r"(?P<name>[a-z_][\w']*)[ \t]*::"),
    ),
    "julia": (
        ("module", r"(?:bare)?module[ \t]+(?P<name>\w+)"),
        (
            "struct",
            r"[ \t]*(?:mutable[ \t]+)?(?:struct|abstract[ \t]+type|primitive[ \t]+type)[ \t]+"
            r"(?P<name>\w+)",
        ),
        ("function", r"(?:@\w+[ \t]+)*function[ \t]+(?P<name>[\w.!]+)"),
        ("macro", r"macro[ \t]+(?P<name>\w+)"),
        ("function", r"(?P<name>[\w.!]+)\([^\n=]*\)(?:[ \t]*where[^\n=]*)?[ \t]*=(?!=)"),
        ("constant", r"const[ \t]+(?P<name>\w+)"),
    ),
    "zig": (
        (
            "struct",
            r"[ \t]*(?:pub[ \t]+)?const[ \t]+(?P<name>\w+)[ \t]*=[ \t]*(?:extern |packed )?"
            r"(?:struct|union|enum|opaque)\b",
        ),
        (
            "struct",  # a generic type
            r"[ \t]*(?:pub[ \t]+)?fn[ \t]+(?P<name>\w+)\([^\n]*\)[ \t]*type\b",
        ),
        (
            "function",
            r"[ \t]*(?:pub[ \t]+|export[ \t]+|inline[ \t]+|extern[ \t]+)*fn[ \t]+(?P<name>\w+)",
        ),
        ("constant", r"pub[ \t]+(?:const|var)[ \t]+(?P<name>\w+)"),
    ),
    "perl": (
        ("module", r"package[ \t]+(?P<name>[\w:]+)"),
        ("function", r"[ \t]*sub[ \t]+(?P<name>\w+)"),
        ("constant", r"use[ \t]+constant[ \t]+(?P<name>[A-Z]\w*)"),
    ),
    "r": (
        ("function", r"(?P<name>[\w.]+)[ \t]*(?:<-|=)[ \t]*function[ \t]*\("),
        (
            "class",
            r"""(?:\w+[ \t]*<-[ \t]*)?(?:setClass|R6Class|setRefClass)\(["'](?P<name>[\w.]+)""",
        ),
        ("constant", r"(?P<name>[A-Z][A-Z0-9_.]+)[ \t]*(?:<-|=)"),
    ),
    "objc": (
        ("end", r"@(?P<name>end)\b"),
        ("class", r"@(?:interface|implementation)[ \t]+(?P<name>\w+)"),
        ("interface", r"@protocol[ \t]+(?P<name>\w+)(?=[^;\n]*$)"),
        ("property", r"@property[^\n;]*?(?P<name>\w+)[ \t]*;"),
        ("method", r"[-+][ \t]*\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)[ \t]*(?P<name>\w+)"),
        ("function", r"(?:static |extern |inline )*[A-Za-z_][\w* ]*[ *](?P<name>\w+)\([^;\n]*$"),
    ),
    "groovy": (
        (
            "class",
            r"[ \t]*(?:(?:public|private|abstract|final|static)[ \t]+)*class[ \t]+(?P<name>\w+)",
        ),
        ("interface", r"[ \t]*(?:interface|trait|enum)[ \t]+(?P<name>\w+)"),
        (
            "function",
            r"[ \t]*(?:(?:static|private|public|protected)[ \t]+)*(?:def|void)[ \t]+"
            r"(?P<name>\w+)[ \t]*\(",
        ),
        (
            "target",
            r"(?:task[ \t]+|(?:[^\n=]*=)?[ \t]*tasks\.register\([ \t]*['\"])(?P<name>[\w.-]+)",
        ),
    ),
    "powershell": (
        ("class", r"[ \t]*class[ \t]+(?P<name>\w+)"),
        ("function", r"[ \t]*(?:[Ff]unction|[Ff]ilter)[ \t]+(?P<name>[\w:-]+)"),
    ),
    "make": (
        ("variable", r"(?:export[ \t]+)?(?P<name>[A-Z][A-Z0-9_]*)[ \t]*[:?+!]{0,2}="),
        ("target", r"(?P<name>[A-Za-z0-9_%-][A-Za-z0-9_./%-]*)[ \t]*::?(?![=:])"),
        ("function", r"define[ \t]+(?P<name>[\w.-]+)"),
    ),
    "clojure": (
        ("module", r"\(ns[ \t]+(?P<name>[\w.-]+)"),
        ("function", r"\((?:defn-?|defmulti|defmethod)[ \t]+(?P<name>[^\s()\[\]]+)"),
        ("macro", r"\(defmacro[ \t]+(?P<name>[^\s()\[\]]+)"),
        ("interface", r"\((?:defprotocol|definterface)[ \t]+(?P<name>[^\s()\[\]]+)"),
        ("class", r"\((?:defrecord|deftype)[ \t]+(?P<name>[^\s()\[\]]+)"),
        ("constant", r"\(def[ \t]+(?:\^\S+[ \t]+)*(?P<name>[^\s()\[\]]+)"),
    ),
    "commonlisp": _forms(
        module="defpackage|define-package|defsystem",
        function="defun|defgeneric|defmethod",
        macro="defmacro",
        struct="defstruct",
        type="deftype",
        variable="defvar|defparameter|defconstant",
        **{"class": "defclass|define-condition"},
    ),
    "elisp": _forms(
        function="(?:cl-)?(?:defun|defgeneric|defmethod|defsubst)|defalias|"
        "define-(?:minor|derived|globalized-minor)-mode",
        macro="(?:cl-)?defmacro",
        struct="(?:cl-)?defstruct",
        variable="defvar(?:-local)?|defcustom|defconst|defface|defgroup",
        **{"class": "defclass|define-error"},
    ),
    "racket": (
        ("struct", rf"\((?:define-)?struct[ \t]+\(?{_LISP_NAME}"),
        ("macro", rf"\(define-syntax(?:-rule|-parse-rule|-parser)?[ \t]+\(?{_LISP_NAME}"),
        ("function", rf"\(define(?:/[\w-]+)?[ \t]+\(+{_LISP_NAME}"),
        ("interface", r"\(define[ \t]+(?P<name>[^\s()\[\]]+<%>)"),
        ("class", r"\(define[ \t]+(?P<name>[^\s()\[\]]+%)"),
        ("constant", rf"\(define(?:/[\w-]+)?[ \t]+{_LISP_NAME}"),
        (
            "method",
            r"[ \t]+\(define/(?:public|override|augment|pubment)(?:-final)?[ \t]+\(*"
            rf"{_LISP_NAME}",
        ),
    ),
    "ocaml": (
        ("interface", r"[ \t]*module[ \t]+type[ \t]+(?P<name>\w+)"),
        ("module", r"[ \t]*module[ \t]+(?:rec[ \t]+)?(?P<name>[A-Z]\w*)"),
        ("class", r"[ \t]*class[ \t]+(?:(?:type|virtual)[ \t]+)*(?P<name>[a-z_]\w*)"),
        ("method", r"[ \t]+method!?[ \t]+(?:(?:private|virtual)[ \t]+)*(?P<name>\w+)"),
        ("type", rf"[ \t]*type[ \t]+(?:nonrec[ \t]+)?{_OCAML_PARAMETERS}(?P<name>[a-z_]\w*)"),
        ("type", r"[ \t]*exception[ \t]+(?P<name>[A-Z]\w*)"),
        (
            "function",
            r"[ \t]*(?:val|external)[ \t]+(?:\([ \t]*)?(?P<name>[\w']+|[^\w\s():]+)[ )\t]*:"
            r"(?=[^\n]*->|[ \t]*$)",
        ),
        ("constant", r"[ \t]*val[ \t]+(?P<name>[\w']+)[ \t]*:"),
        ("function", r"[ \t]*let[ \t]+\([ \t]*(?P<name>(?:let|and)?[^\w\s()\"',]+)[ \t]*\)"),
        (
            "function",
            r"[ \t]*let[ \t]+(?:rec[ \t]+)?(?P<name>(?!_\b)[a-z_][\w']*)"
            r"(?=[ \t]+[^=:\s]|[ \t]*(?::[^\n=]*)?=[ \t]*fun|[ \t]*$)",
        ),
        ("constant", r"[ \t]*let[ \t]+(?:rec[ \t]+)?(?P<name>(?!_\b)[a-z_][\w']*)"),
        ("opaque", r"[ \t]*let(?:%[\w.]+)?[ \t]+(?P<name>_\b|\"|\{|\((?=\)|[^()\n]*,))"),
        ("same", rf"[ \t]*and[ \t]+{_OCAML_PARAMETERS}(?P<name>[a-z_][\w']*)"),
    ),
    "elm": (
        ("module", r"(?:port[ \t]+|effect[ \t]+)?module[ \t]+(?P<name>[\w.]+)"),
        ("type", r"type[ \t]+(?:alias[ \t]+)?(?P<name>[A-Z]\w*)"),
        ("function", r"(?:port[ \t]+)?(?P<name>[a-z]\w*)[ \t]*:(?=[^\n]*->|[ \t]*$)"),
        ("constant", r"(?P<name>[a-z]\w*)[ \t]*:"),
        ("function", r"(?!type\b)(?P<name>[a-z]\w*)[^\n=:\"]*=(?!=)"),
    ),
    "gleam": (
        ("type", r"(?:pub[ \t]+)?(?:opaque[ \t]+)?type[ \t]+(?P<name>[A-Z]\w*)"),
        ("function", r"(?:pub[ \t]+)?fn[ \t]+(?P<name>\w+)"),
        ("constant", r"(?:pub[ \t]+)?const[ \t]+(?P<name>\w+)"),
    ),
    "pony": (
        ("class", rf"(?:class|actor|primitive)[ \t]+{_PONY_MARKS}(?P<name>\w+)"),
        ("interface", rf"interface[ \t]+{_PONY_MARKS}(?P<name>\w+)"),
        ("trait", rf"trait[ \t]+{_PONY_MARKS}(?P<name>\w+)"),
        ("struct", rf"struct[ \t]+{_PONY_MARKS}(?P<name>\w+)"),
        ("type", r"type[ \t]+(?P<name>\w+)"),
        ("method", rf"[ \t]+(?:fun|be|new)[ \t]+{_PONY_MARKS}(?P<name>\w+)"),
    ),
    "d": (
        ("module", r"module[ \t]+(?P<name>[\w.]+)"),
        ("class", rf"[ \t]*{_D_MARKS}class[ \t]+(?P<name>\w+)"),
        ("interface", rf"[ \t]*{_D_MARKS}interface[ \t]+(?P<name>\w+)"),
        ("struct", rf"[ \t]*{_D_MARKS}(?:struct|union)[ \t]+(?P<name>\w+)"),
        ("trait", rf"[ \t]*{_D_MARKS}template[ \t]+(?P<name>\w+)"),
        ("enum", rf"[ \t]*{_D_MARKS}enum[ \t]+(?P<name>\w+)(?=[ \t]*(?:[:{{]|$))"),
        ("type", rf"[ \t]*{_D_MARKS}alias[ \t]+(?P<name>\w+)(?=[ \t]*[=(])"),
        (
            "constant",
            rf"[ \t]*{_D_MARKS}(?:enum|immutable)[ \t]+(?:[\w.\[\]]+[ \t]+)?(?P<name>\w+)[ \t]*=",
        ),
        ("opaque", r"[ \t]*(?:@\w+[ \t]+)*(?P<name>unittest|invariant)\b"),
        ("method", rf"[ \t]*{_D_MARKS}(?P<name>~?this)[ \t]*\("),
        ("function", rf"[ \t]*{_D_KEYS}{_D_MARKS}{_D_TYPE}{_D_KEYS}(?P<name>\w+)[ \t]*\("),
    ),
    "matlab": (
        ("class", r"classdef[ \t]*(?:\([^)\n]*\)[ \t]*)?(?P<name>\w+)"),
        (
            "function",
            r"[ \t]*function\b[ \t]*(?:(?:\[[^\]\n]*\]|\w+)[ \t]*=[ \t]*)?(?P<name>[A-Za-z][\w.]*)",
        ),
    ),
    "solidity": (
        ("class", r"(?:abstract[ \t]+)?(?:contract|library)[ \t]+(?P<name>\w+)"),
        ("interface", r"interface[ \t]+(?P<name>\w+)"),
        ("struct", r"[ \t]*struct[ \t]+(?P<name>\w+)"),
        ("enum", r"[ \t]*enum[ \t]+(?P<name>\w+)"),
        ("type", r"[ \t]*type[ \t]+(?P<name>\w+)[ \t]+is\b"),
        ("event", r"[ \t]*(?:event|error)[ \t]+(?P<name>\w+)[ \t]*\("),
        ("function", r"[ \t]*(?:function|modifier)[ \t]+(?P<name>\w+)"),
        ("method", r"[ \t]+(?P<name>constructor|receive|fallback)[ \t]*\("),
        (
            "constant",
            r"[ \t]*\w[^\n;={}]*?[ \t](?:constant|immutable)[ \t]+"
            r"(?:(?:public|private|internal|override)[ \t]+)*(?P<name>\w+)[ \t]*[=;]",
        ),
        ("property", r"[ \t]+\w[^\n;{}]*?[ \t]public[ \t]+(?P<name>\w+)[ \t]*[=;]"),
    ),
}
