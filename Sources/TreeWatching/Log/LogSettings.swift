/// The log settings from the environment and the command line.
package struct LogSettings: Sendable, Equatable {
    package var level = UbiquityLog.Level.faults
    package var showsContents = false
    package var tracesSQL = false
    /// The invalid settings, with remedies.
    package var faults: [String] = []

    /// Core Data's argument was `-com.apple.coredata.ubiquity.logLevel 3`.
    static let argument = "-UbiquityLogLevel"

    /// Reads both; the command line has precedence.
    ///
    ///   - environment: the process's variables.
    ///   - arguments: the process's arguments, without the program's name.
    package init(environment: [String: String], arguments: [String]) {
        if let text = environment["UBIQUITY_LOG_LEVEL"], !text.isEmpty { read(text, from: "UBIQUITY_LOG_LEVEL") }
        for text in Self.split(arguments).levels { read(text, from: Self.argument) }
        showsContents = Self.isSet(environment["UBIQUITY_LOG_CONTENTS"])
        tracesSQL = Self.isSet(environment["UBIQUITY_SQL_DEBUG"])
    }

    private mutating func read(_ text: String, from source: String) {
        if let number = Int(text) {
            level = UbiquityLog.Level(clamping: number)
        } else {
            faults.append("\(source) says “\(text)”, which is not a level: give a number from 0 to 3.")
        }
    }

    private static func isSet(_ value: String?) -> Bool { value.map { !$0.isEmpty && $0 != "0" } ?? false }

    /// Separates this package's arguments from the others.
    ///
    /// - Parameter arguments: the arguments of the command line.
    /// - Returns: the given values for the level, and the remaining arguments.
    static func split(_ arguments: [String]) -> (levels: [String], others: [String]) {
        // Arguments after `--` are not options.
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        var (levels, others): ([String], [String]) = ([], [])
        var index = arguments.startIndex
        while index < end {
            if arguments[index] == argument, index + 1 < end {
                levels.append(arguments[index + 1])
                index += 2
            } else {
                others.append(arguments[index])
                index += 1
            }
        }
        return (levels, others + arguments[end...])
    }
}
