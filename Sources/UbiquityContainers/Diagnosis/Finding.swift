package import SystemPackage

/// One thing about this device's accounts, containers or synchroniser that is worth knowing.
package struct Finding: Sendable, Hashable, Codable {
    /// How much it matters.
    package enum Severity: String, Sendable, Codable, CaseIterable {
        /// Something does not work, or is about to be lost.
        case fault
        /// It works, and may not under circumstances that can be named.
        case warning
        /// Nothing is wrong.
        case remark
    }

    /// What it is about.
    package enum Area: String, Sendable, Codable, CaseIterable {
        case home, account, root, container, item, store, broker, syncthing
    }

    package var severity: Severity
    package var area: Area
    /// The file or directory; nil where it is about none.
    package var path: String?
    /// What was found.
    package var what: String
    /// What to do; the same words for all findings of one kind.
    package var remedy: String

    package init(_ severity: Severity, _ area: Area, _ path: FilePath?, _ what: String, _ remedy: String) {
        self.severity = severity
        self.area = area
        self.path = path?.string
        self.what = what
        self.remedy = remedy
    }

    /// Takes a message as this package's errors have them: what failed, a semicolon, and what to do.
    ///
    /// - Parameters:
    ///   - severity: how much it matters.
    ///   - area: what it is about.
    ///   - path: the file or directory.
    ///   - message: the error's message, without its cause.
    ///   - cause: the error beneath.
    package init(_ severity: Severity, _ area: Area, _ path: FilePath?, message: String, cause: (any Error)? = nil) {
        var sentence = message.hasSuffix(".") ? message.dropLast() : message[...]
        // The path stands before it.
        if let path, sentence.hasPrefix("\(path) ") { sentence = sentence.dropFirst(path.string.count + 1) }
        let parts = sentence.split(separator: "; ", maxSplits: 1)
        let reason = cause.map { " (\($0))" } ?? ""
        self.init(severity, area, path, parts[0] + reason, parts.count > 1 ? String(parts[1]) : "mend that")
    }
}

extension Sequence<Finding> {
    /// Whether none of them is a fault.
    package var isSound: Bool { allSatisfy { $0.severity != .fault } }
}
