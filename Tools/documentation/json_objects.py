"""What the commands print with --json: found in the sources, as the objects that they encode."""
import re

import swift_source

FOLDERS = [
    "Sources/ubcontrol", "Sources/ubwatch", "Sources/ToolSupport", "Sources/StoreInspection", "Sources/StoreExchange", "Sources/StoreRecords",
    "Sources/StoreFormat", "Sources/StoreAuthority", "Sources/ObjectTransfer", "Sources/UbiquityContainers", "Sources/FileCoordination",
    "Sources/TreeWatching", "Sources/SyncthingStatus",
]
# The types of values that a command encodes by a name that does not say its type.
TYPES = {
    ("BackupCommand", "backup"): "StoreBackup",
    ("CheckCommand", "check"): "StoreCheck",
    ("ConflictShowCommand", "report"): "Report",
    ("ConflictsCommand", "troubles"): "WatchFacts.Troubles",
    ("ContainerCopyCommand", "copy"): "ContainerCopy",
    ("ContainerStatusCommand", "line"): "ContainerStatusCommand.Line",
    ("ContainerWipeCommand", "wipe"): "ContainerWipe",
    ("CopyCommand", "copy"): "StoreCopy",
    ("DeviceStatusCommand", "status"): "DeviceStatus",
    ("ItemStatusCommand", "line"): "ItemStatusCommand.Line",
    ("ItemsCommand", "line"): "ItemsCommand.Line",
    ("KeptListCommand", "summary"): "StoreSummary",
    ("LogCommand", "report"): "LogReport",
    ("PeersListCommand", "peer"): "StorePeer",
    ("PolicyCommand", "report"): "PolicyReport",
    ("PublicSchemaCommand", "move"): "SchemaMove",
    ("PublicSchemaCommand", "report"): "SchemaReport",
    ("QuarantineListCommand", "log"): "QuarantinedLog",
    ("RejectedCommand", "log"): "RejectedLog",
    ("SetupStatusCommand", "status"): "SetupStatus",
    ("StatusCommand", "facts"): "WatchFacts",
    ("StoreListCommand", "summary"): "StoreSummary",
    ("StoreStateCommand", "summary"): "StoreSummary",
    ("TransferStatusCommand", "status"): "TransferStatus",
    ("TransferVerifyCommand", "found"): "TransferVerification",
    ("VerifyCommand", "verification"): "ContainerVerification",
    ("WhyCommand", "found"): "Listing",
}
# What other parts of a tool print for a command.
ELSEWHERE = {"LiveCommand": ["ContainerChange()"]}


class Sources:
    def __init__(self, root):
        self.all = swift_source.everything(root, FOLDERS)
        self.declared = {}
        for one in self.all:
            if one.kind != "extension":
                self.declared.setdefault(one.name, []).append(one)

    def commands(self):
        """The types of commands, by name: the command's word and its subcommands' types."""
        found = {}
        for one in self.all:
            text = "\n".join(one.body)
            word = re.search(r'commandName: "([^"]+)"', text)
            if one.kind == "struct" and word and "configuration" in text:
                children = re.search(r"subcommands: \[(.*?)\n?\s*\]", text, re.S)
                found[(one.name, one.file)] = (word.group(1), re.findall(r"([\w.]+)\.self", children.group(1)) if children else [])
        return found

    def resolve(self, name, near):
        """The declared type of that name: beside the given one, in its file, or anywhere."""
        parts = near.name.split(".")
        for depth in range(len(parts), -1, -1):
            qualified = ".".join(parts[:depth] + [name])
            for one in self.declared.get(qualified, []):
                if one.file == near.file or depth == 0:
                    return one
        tails = [one for key, ones in self.declared.items() if key == name or key.endswith("." + name) for one in ones]
        same = [one for one in tails if one.file == near.file]
        return (same or tails or [None])[0]

    def encodes_itself(self, one):
        """Whether an object writes keys of its own; one that only writes null for what is absent does not."""
        parts = [part for part in self.all if part.name == one.name or part.name.endswith("." + one.name)]
        if not any("func encode(to" in "\n".join(part.body) for part in parts):
            return False
        names = {p.name for p in one.properties}
        keys = [part for part in self.all if part.name == one.name + ".CodingKeys" and part.file == one.file]
        return not keys or not all(name in names for name, _, _ in keys[0].cases)

    def keys(self, one):
        """The keys of an object with the Swift types of their values and a sentence."""
        for part in self.all:
            if part.name == one.name + ".CodingKeys" and part.file == one.file and part.cases:
                kinds = {p.name: p for p in one.properties}
                return [(raw or name, kinds[name].type, kinds[name].words) for name, raw, _ in part.cases if name in kinds]
        return [(p.name.strip("`"), p.type, p.words) for p in one.properties]

    def prints(self, one):
        """The expressions that a command encodes, in the order of its source."""
        yield from ELSEWHERE.get(one.name, [])
        texts = ["\n".join(part.body) for part in self.all if part.file == one.file and part.name == one.name]
        for text in texts:
            text = re.sub(r"(?<!:)//[^\n]*", "", text)
            for match in re.finditer(r"(?:printJSON|jsonLine)\(", text):
                yield argument(text, match.end())


def argument(text, start):
    """The text up to the parenthesis that closes the one before start."""
    depth, position = 1, start
    while depth:
        depth += text[position] in "([{"
        depth -= text[position] in ")]}"
        position += 1
    return text[start : position - 1].strip()
