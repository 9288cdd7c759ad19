package import ArgumentParser
internal import Foundation

/// The command that a user may have meant with a mistyped word.
package struct CommandSuggestion: Equatable {
    /// The commands with all their words, such as `ubcontrol store list`.
    package let commands: [String]

    /// The question for people.
    package var text: String { "Did you mean \(commands.map { "`\($0)`" }.joined(separator: " or "))?" }

    /// Finds a suggestion; nil if every word in a command's place is a command, or no command is close enough.
    ///
    /// - Parameters:
    ///   - arguments: the words after the tool's name.
    ///   - tool: the tool.
    package init?(for arguments: [String], of tool: any ParsableCommand.Type) {
        var node = tool
        var path = [Self.name(of: tool)]
        var word: String?
        for argument in arguments {
            guard !argument.hasPrefix("-"), !node.configuration.subcommands.isEmpty else { break }
            guard let next = node.configuration.subcommands.first(where: { Self.names(of: $0).contains(argument) }) else {
                word = argument
                break
            }
            node = next
            path.append(Self.name(of: next))
        }
        // Paths and existing files are not commands.
        guard let word, !word.contains("/"), !word.contains("."), !FileManager.default.fileExists(atPath: word) else { return nil }
        var found = node.configuration.subcommands.map(Self.name).filter { Self.isNear(word, $0) }.map { (path + [$0]).joined(separator: " ") }
        if found.isEmpty {
            found = Self.commands(below: tool, behind: [Self.name(of: tool)]).filter { $0.last == word }.map { $0.joined(separator: " ") }
        }
        guard !found.isEmpty else { return nil }
        commands = found
    }

    /// Returns every command with all its words.
    private static func commands(below tool: any ParsableCommand.Type, behind words: [String]) -> [[String]] {
        tool.configuration.subcommands.flatMap { command in
            let path = words + [name(of: command)]
            return [path] + commands(below: command, behind: path)
        }
    }

    private static func name(of command: any ParsableCommand.Type) -> String { command.configuration.commandName ?? "\(command)".lowercased() }

    private static func names(of command: any ParsableCommand.Type) -> [String] { [name(of: command)] + command.configuration.aliases }

    /// Returns whether one word may be the other, mistyped: at most a third of it differs, and short words are not
    /// entirely different.
    static func isNear(_ typed: String, _ name: String) -> Bool {
        let (typed, name) = (Array(typed.lowercased()), Array(name))
        let distance = distance(typed, name)
        return distance > 0 ? distance <= max(1, name.count / 3) && distance < typed.count : true
    }

    /// Returns the number of letters to insert, delete, replace or swap with their neighbour (Damerau and Levenshtein,
    /// optimal string alignment).
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var table = [[Int]](repeating: [Int](repeating: 0, count: right.count + 1), count: left.count + 1)
        for row in 0...left.count { table[row][0] = row }
        for column in 0...right.count { table[0][column] = column }
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        for row in 1...left.count {
            for column in 1...right.count {
                let cost = left[row - 1] == right[column - 1] ? 0 : 1
                var best = min(table[row - 1][column] + 1, table[row][column - 1] + 1, table[row - 1][column - 1] + cost)
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    best = min(best, table[row - 2][column - 2] + 1)
                }
                table[row][column] = best
            }
        }
        return table[left.count][right.count]
    }
}
