package import SystemPackage

/// One finding about this device's accounts, containers or synchroniser.
package struct Finding: Sendable, Hashable, Codable {
    /// The severity of a finding.
    package enum Severity: String, Sendable, Codable, CaseIterable {
        /// Something does not work, or data is about to be lost.
        case fault
        /// It works, but may fail under circumstances that the finding names.
        case warning
        /// Nothing is wrong.
        case remark
    }

    /// The subject of a finding.
    package enum Area: String, Sendable, Codable, CaseIterable {
        case home, account, root, container, item, store, broker, syncthing, cloud
    }

    package var severity: Severity
    package var area: Area
    /// The file or directory; nil if the finding concerns none.
    package var path: String?
    /// The finding in words.
    package var what: String
    /// The remedy; all findings of one kind have the same text.
    package var remedy: String

    package init(_ severity: Severity, _ area: Area, _ path: FilePath?, _ what: String, _ remedy: String) {
        self.severity = severity
        self.area = area
        self.path = path?.string
        self.what = what
        self.remedy = remedy
    }

    /// Makes a finding from an error message of this package, which has the form: the failure, a semicolon, the remedy.
    ///
    /// - Parameters:
    ///   - severity: the severity.
    ///   - area: the subject.
    ///   - path: the file or directory.
    ///   - message: the error's message, without its cause.
    ///   - cause: the underlying error.
    package init(_ severity: Severity, _ area: Area, _ path: FilePath?, message: String, cause: (any Error)? = nil) {
        var sentence = message.hasSuffix(".") ? message.dropLast() : message[...]
        // The finding shows the path separately.
        if let path, sentence.hasPrefix("\(path) ") { sentence = sentence.dropFirst(path.string.count + 1) }
        let parts = sentence.split(separator: "; ", maxSplits: 1)
        let reason = cause.map { " (\($0))" } ?? ""
        self.init(severity, area, path, parts[0] + reason, parts.count > 1 ? String(parts[1]) : "correct that")
    }
}

extension Sequence<Finding> {
    /// Whether there is no fault among the findings.
    package var isSound: Bool { allSatisfy { $0.severity != .fault } }
}
