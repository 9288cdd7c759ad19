/// The reason why a device cannot be set up; nothing has been changed.
package struct SetupError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason and the remedy, in one line.
    package let description: String
    /// Whether the command line is wrong, or names something that is not there.
    package let isUsage: Bool

    package init(_ description: String, isUsage: Bool = false) {
        self.description = description
        self.isUsage = isUsage
    }
}
