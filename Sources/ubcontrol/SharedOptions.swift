import ArgumentParser
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Says which device it is about.
struct HomeOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The device home.", discussion: "Else $UBIQUITY_HOME, $XDG_DATA_HOME/ubiquity, or ~/.local/share/ubiquity.", valueName: "dir"),
        completion: .directory)
    var home: String?

    var deviceHome: DeviceHome {
        get throws { try home.map { DeviceHome(FilePath($0)) } ?? DeviceHome.standard() }
    }

    /// The device home that a command line names which is still being typed.
    ///
    /// - Parameter words: the words so far.
    /// - Returns: the home; nil where there is none.
    static func home(in words: [String]) -> DeviceHome? {
        if let index = words.firstIndex(of: "--home"), index + 1 < words.count { return DeviceHome(FilePath(words[index + 1])) }
        return try? .standard()
    }
}

/// Keeps what cannot be had back from going without somebody's word.
struct ConfirmOption: ParsableArguments {
    @Flag(help: "Go on without asking.")
    var yes = false

    /// Asks on a terminal, unless `--yes` is given; without a terminal it refuses.
    ///
    /// - Parameters:
    ///   - consequence: what will be so, as a sentence.
    ///   - answer: what has to be typed.
    /// - Throws: `ValidationError` where nobody can be asked; `ExitCode` 1 where something else is typed.
    func confirm(_ consequence: String, answer: String = "yes") throws {
        if yes { return }
        // It may hold names that other devices have given.
        let consequence = consequence.printable
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            throw Refusal("\(consequence) There is no terminal to ask on: add --yes.")
        }
        writeError("\(consequence)\nType \(answer) to go on: ")
        guard readLine() == answer else {
            writeError("Nothing has been changed.\n")
            throw ExitCode(1)
        }
    }
}

/// Says beforehand.
struct DryRunOption: ParsableArguments {
    @Flag(name: .customLong("dry-run"), help: "Say what would be done, and do nothing.")
    var isOn = false
}

/// Names a container of the signed-in account on the command line.
struct ContainerArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The container, such as org.example.notes.", valueName: "identifier"),
        completion: .custom { words, _, _ in
            HomeOptions.home(in: words).map { ((try? KnownContainer.list(in: $0)) ?? []).map(\.identifier.description) } ?? []
        })
    var identifier: String
}
