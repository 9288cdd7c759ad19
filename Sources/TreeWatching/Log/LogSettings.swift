/// What the environment and the command line say of the log.
package struct LogSettings: Sendable, Equatable {
    package var level = UbiquityLog.Level.faults
    package var showsContents = false
    package var tracesSQL = false
    /// What cannot be understood, and what to do.
    package var faults: [String] = []

    /// As Core Data took `-com.apple.coredata.ubiquity.logLevel 3`.
    static let argument = "-UbiquityLogLevel"

    /// Reads both; the command line counts where both say something.
    ///
    /// - Parameters:
    ///   - environment: the process's variables.
    ///   - arguments: its arguments, without the program's name.
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
            faults.append("\(source) says “\(text)”, which is no level: give a number from 0 to 3.")
        }
    }

    private static func isSet(_ value: String?) -> Bool { value.map { !$0.isEmpty && $0 != "0" } ?? false }

    /// Takes this package's arguments out of others.
    ///
    /// - Parameter arguments: the command line's.
    /// - Returns: the values that are given for the level, and what is left.
    static func split(_ arguments: [String]) -> (levels: [String], others: [String]) {
        // What stands behind it is nobody's option.
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
