internal import TreeWatching

/// Where the statements of a store's database are logged: ``UbiquityLog``, for a module that watches nothing.
package enum StatementLog {
    /// Whether statements are logged.
    package static var isOn: Bool { UbiquityLog.tracesSQL }
    /// Whether they are logged with the values in them.
    package static var showsContents: Bool { UbiquityLog.showsContents }

    /// Writes a line.
    ///
    /// - Parameter text: the line.
    package static func write(_ text: String) { UbiquityLog.write(text) }
}
