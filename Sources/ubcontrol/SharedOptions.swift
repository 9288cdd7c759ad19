import ArgumentParser
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers

/// The option that names the device home.
struct HomeOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The device home.", discussion: "By default $UBIQUITY_HOME, $XDG_DATA_HOME/ubiquity, or ~/.local/share/ubiquity.", valueName: "dir"),
        completion: .directory)
    var home: String?

    var deviceHome: DeviceHome {
        get throws { try home.map { DeviceHome(FilePath($0)) } ?? DeviceHome.standard() }
    }

    /// Returns the device home that an incomplete command line names.
    ///
    /// - Parameter words: the words so far.
    /// - Returns: the home; nil if there is none.
    static func home(in words: [String]) -> DeviceHome? {
        if let index = words.firstIndex(of: "--home"), index + 1 < words.count { return DeviceHome(FilePath(words[index + 1])) }
        return try? .standard()
    }
}

/// Prevents the loss of data without a confirmation.
struct ConfirmOption: ParsableArguments {
    @Flag(help: "Continue without asking.")
    var yes = false

    /// Asks on a terminal, unless `--yes` is given; refuses without a terminal.
    ///
    /// - Parameters:
    ///   - consequence: the result of the command, as a sentence.
    ///   - answer: the word to type.
    /// - Throws: `ValidationError` without a terminal; `ExitCode` 1 when another word is typed.
    func confirm(_ consequence: String, answer: String = "yes") throws {
        if yes { return }
        // The text may contain names that other devices have chosen.
        let consequence = consequence.printable
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            throw Refusal("\(consequence) There is no terminal for the confirmation: add --yes.")
        }
        writeError("\(consequence)\nType \(answer) to continue: ")
        guard readLine() == answer else {
            writeError("Nothing has been changed.\n")
            throw ExitCode(1)
        }
    }
}

/// The option that only prints the effect of a command.
struct DryRunOption: ParsableArguments {
    @Flag(name: .customLong("dry-run"), help: "Print the effect, and do nothing.")
    var isOn = false
}

/// The name of a container of the signed-in account on the command line.
struct ContainerArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The container, such as org.example.notes.", valueName: "identifier"),
        completion: .custom { words, _, _ in
            HomeOptions.home(in: words).map { ((try? KnownContainer.list(in: $0)) ?? []).map(\.identifier.description) } ?? []
        })
    var identifier: String
}
