"""What a program of the package says of its commands with --experimental-dump-help."""
import json
import pathlib
import subprocess

PROGRAMS = ["ubcontrol", "ubwatch", "ubiquityd", "ubtransfer"]


def root_command(program):
    """The command at the top of a program, with its subcommands."""
    # The names of programs alone, so that no page says where it was made.
    dump = subprocess.run([pathlib.Path(program), "--experimental-dump-help"], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(dump)["command"]


def names(argument):
    return [("--" if name["kind"] == "long" else "-") + name["name"] for name in argument.get("names") or []]


def written(argument):
    """An argument as it stands on a command line."""
    value = argument.get("valueName") or "value"
    if argument["kind"] == "positional":
        return "<%s>%s" % (value, "..." if argument.get("isRepeating") else "")
    return ", ".join(names(argument)) + (" <%s>" % value if argument["kind"] == "option" else "")


def shown(command):
    return [a for a in command.get("arguments") or [] if a.get("shouldDisplay", True) and not {"--help", "--version"} & set(names(a))]


def subcommands(command):
    return [c for c in command.get("subcommands") or [] if c.get("shouldDisplay", True) and c["commandName"] != "help"]
