"""The types of Swift sources, as far as the reference pages need them: names, stored properties, their doc comments."""
import dataclasses
import pathlib
import re

TYPE = re.compile(r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:public |package |private |fileprivate |internal |final |indirect )*(struct|enum|class|actor|extension)\s+([\w.]+)([^{]*)\{")
PROPERTY = re.compile(r"^\s*(?:public |package |private |fileprivate |internal |private\(set\) |package private\(set\) )*(let|var)\s+(.+)$")
CASE = re.compile(r"^\s*case\s+(.+)$")


@dataclasses.dataclass
class Property:
    name: str
    type: str
    words: str


@dataclasses.dataclass
class Type:
    """A type, or an extension of it: its qualified name and the lines between its braces."""
    name: str
    kind: str
    heritage: str
    words: str
    file: str
    body: list
    properties: list = dataclasses.field(default_factory=list)
    cases: list = dataclasses.field(default_factory=list)


def without_strings(line):
    """The line without literals and comments, so that its braces can be counted."""
    return re.sub(r"//.*", "", re.sub(r'"(?:\\.|[^"\\])*"', '""', line))


def types(path):
    """Every type and extension of a file, outer before inner."""
    found, open_types, depth, words, is_literal = [], [], 0, [], False
    for line in pathlib.Path(path).read_text().split("\n"):
        if line.count('"""') % 2:
            is_literal = not is_literal
            for one, _ in open_types:
                one.body.append(line)
            continue
        code = "" if is_literal else without_strings(line)
        for one, _ in open_types:
            one.body.append(line)
        start = None if is_literal else TYPE.match(code)
        if start and code.count("{") > 0:
            kind, name, heritage = start.group(1), start.group(2), start.group(3)
            outer = open_types[-1][0].name + "." if open_types else ""
            one = Type(outer + name, kind, heritage.strip(" :"), " ".join(words), str(path), [])
            found.append(one)
            if code.count("{") > code.count("}"):
                open_types.append((one, depth))
            else:
                one.body.append(code[code.index("{") + 1 : code.rindex("}")])
                one.properties, one.cases = members(one, [one.body[0].strip()])
        elif open_types and depth == open_types[-1][1] + 1:
            member(open_types[-1][0], code, words)
        if line.strip().startswith("///"):
            words.append(line.strip()[3:].strip())
        elif line.strip():
            words = []
        depth += code.count("{") - code.count("}")
        while open_types and depth <= open_types[-1][1]:
            open_types.pop()
    return found


def members(one, lines):
    for line in lines:
        member(one, line, [])
    return one.properties, one.cases


def member(one, code, words):
    if "static " in code:
        return
    stored = PROPERTY.match(code)
    if stored:
        declared = stored.group(2)
        # A computed property has a body; a default value may be a closure's result.
        if re.search(r"\{", declared.split("=")[0]) and "didSet" not in declared:
            return
        declared, _, value = declared.partition(" = ")
        for part in split(declared):
            name, _, kind = part.partition(":")
            kind = kind.strip() or literal(value.strip())
            if kind:
                one.properties.append(Property(name.strip(), kind, sentence(words)))
        return
    case = CASE.match(code)
    if case and one.kind == "enum":
        for part in split(case.group(1)):
            name, _, raw = part.partition("=")
            one.cases.append((name.strip().strip("`").split("(")[0], raw.strip().strip('"'), sentence(words)))


def literal(value):
    """The type of a property that only its value tells; empty for a value that is no plain literal."""
    if value in ("true", "false"):
        return "Bool"
    return "Int" if re.fullmatch(r"-?\d+", value) else "String" if value.startswith('"') else ""


def sentence(words):
    """The first sentence of a doc comment; links of DocC become code."""
    text = " ".join(words).partition("- ")[0].strip() if words else ""
    text = re.sub(r"``/?(?:\w+/)*([^`]+)``", r"`\1`", text)
    return re.split(r"(?<=[a-z)`])\. ", text)[0].rstrip(".").strip()


def split(text):
    """The parts between commas that stand outside of brackets."""
    parts, depth, part = [], 0, ""
    for letter in text:
        depth += letter in "([<" 
        depth -= letter in ")]>"
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    return parts + [part]


def everything(root, folders):
    """All types below the folders of the package."""
    return [one for folder in folders for file in sorted((root / folder).glob("**/*.swift")) for one in types(file)]
