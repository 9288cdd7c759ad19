import Foundation
import Testing
import ToolProcesses

/// A program's commands, as `--experimental-dump-help` of swift-argument-parser tells them.
struct HelpCommand: Decodable {
    struct Argument: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String
        }

        var kind: String
        var names: [Name]?
        var isOptional: Bool
        var isRepeating: Bool
        var shouldDisplay: Bool
        var abstract: String?
        var discussion: String?

        /// The names as they are typed.
        var words: [String] { (names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name } }
    }

    private struct Dump: Decodable { var command: HelpCommand }

    var commandName: String
    var abstract: String?
    var discussion: String?
    var defaultSubcommand: String?
    var subcommands: [HelpCommand]?
    var arguments: [Argument]?

    /// Asks a program.
    static func of(_ program: String) async throws -> HelpCommand {
        let outcome = try await Tool.run(program, ["--experimental-dump-help"])
        try #require(outcome.status == 0, "\(outcome.errors)")
        return try JSONDecoder().decode(Dump.self, from: Data(outcome.output.utf8)).command
    }

    /// Itself and those below it, but for `help`, with the words that lead there.
    func all(behind words: [String] = []) -> [(words: [String], command: HelpCommand)] {
        let path = words + [commandName]
        return [(path, self)] + (subcommands ?? []).filter { $0.commandName != "help" }.flatMap { $0.all(behind: path) }
    }

    /// Everything that it says about itself.
    var texts: [String] { [abstract, discussion].compactMap { $0 } + (arguments ?? []).flatMap { [$0.abstract, $0.discussion].compactMap { $0 } } }

    /// What a command line asks for that there is not; nil where it could be typed, placeholders and what is left out apart.
    func fault(in words: ArraySlice<String>) -> String? {
        if let next = words.first, let child = subcommands?.first(where: { $0.commandName == next }) { return child.fault(in: words.dropFirst()) }
        if let name = defaultSubcommand, let child = subcommands?.first(where: { $0.commandName == name }) { return child.fault(in: words) }
        if subcommands?.isEmpty == false, let next = words.first, !next.hasPrefix("-") { return "\(commandName) has no subcommand \(next)" }
        var rest = words
        let positional = (arguments ?? []).filter { $0.kind == "positional" }
        var places = positional.contains(where: \.isRepeating) ? Int.max : positional.count
        while let word = rest.popFirst() {
            if word.hasPrefix("-"), word != "-" {
                let name = String(word.prefix { $0 != "=" })
                if ["--generate-completion-script", "-UbiquityLogLevel"].contains(name) {
                    rest = rest.dropFirst()
                    continue
                }
                guard let argument = (arguments ?? []).first(where: { $0.words.contains(name) }) else {
                    return "\(commandName) has no option \(name)"
                }
                if argument.kind == "option", !word.contains("=") { rest = rest.dropFirst() }
            } else {
                places -= 1
                if places < 0 { return "\(commandName) takes no more arguments at \(word)" }
            }
        }
        return nil
    }
}

/// The command lines that texts show.
enum CommandLines {
    static let programs = ["ubcontrol", "ubwatch", "ubiquityd", "ubtransfer", "notes", "people", "journal"]

    /// Those between backticks: mentioned, so that arguments may be left out.
    static func mentioned(in text: String) -> [[String]] {
        // What is fenced is looked at line by line.
        let fences = text.components(separatedBy: "```")
        let parts = stride(from: 0, to: fences.count, by: 2).map { fences[$0] }.joined().components(separatedBy: "`")
        return stride(from: 1, to: parts.count, by: 2).compactMap { words(parts[$0].replacingOccurrences(of: "\n", with: " ")) }
    }

    /// Those on lines of their own.
    static func shown(in text: String) -> [[String]] { text.split(separator: "\n").filter { $0.hasPrefix("    ") }.compactMap { words(String($0)) } }

    /// Those in fenced blocks.
    static func fenced(in text: String) -> [[String]] {
        let parts = text.components(separatedBy: "```")
        return stride(from: 1, to: parts.count, by: 2).flatMap { parts[$0].split(separator: "\n").compactMap { words(String($0)) } }
    }

    /// A line's words, as far as it runs one of the programs; nil for another line.
    private static func words(_ line: String) -> [String]? {
        var words: [String] = []
        for word in line.replacingOccurrences(of: "[", with: "").replacingOccurrences(of: "]", with: "").split(separator: " ") {
            if ["|", "#", ">", "&&"].contains(word) { break }
            // A variable for the program.
            if words.isEmpty, word.contains("=") || word == "$" { continue }
            words.append(String(word))
        }
        guard let program = words.first, programs.contains(program) else { return nil }
        return words
    }
}
