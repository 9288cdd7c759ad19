internal import StoreExchange
internal import SystemPackage
internal import UbiquityContainers

/// The result of verifying every file of a store's content; verification writes nothing, and opens no store.
package struct ContentVerification: Sendable, Codable {
    /// One finding.
    package struct Finding: Sendable, Codable, Hashable {
        /// The severity of the finding.
        package enum Kind: String, Sendable, Codable {
            /// A file that cannot be used, or that does not belong in its place.
            case fault
            /// A file that others need is missing.
            case gap
            /// Nothing is wrong.
            case remark
        }

        package var kind: Kind
        package var path: String
        /// The description of the finding.
        package var detail: String
        /// The remedy.
        package var remedy: String
    }

    /// The number of logs of one peer that another has not read.
    package struct Unread: Sendable, Codable {
        package var peer: String
        package var author: String
        package var logs: Int64
    }

    /// A peer with its device.
    package struct Device: Sendable, Codable {
        package var peer: String
        /// The device's name, from the peer's receipt; nil if it is unknown.
        package var device: String?
        /// The app's name, from the receipt; nil if it is unknown.
        package var app: String?
    }

    /// The content's name, from its directory.
    package var content: String
    package var path: String
    /// The highest epoch that a mark names; 0 without a mark.
    package var epoch: Int64 = 0
    // The numbers of verified files.
    package var logs = 0
    package var values = 0
    package var baselines = 0
    package var receipts = 0
    package var marks = 0
    package var unread: [Unread] = []
    /// The peers of the present epoch.
    package var devices: [Device] = []
    package var findings: [Finding] = []

    /// Whether nothing is wrong or missing.
    package var isSound: Bool { findings.isSound }
}

extension [ContentVerification.Finding] {
    /// Whether nothing is wrong or missing.
    package var isSound: Bool { allSatisfy { $0.kind == .remark } }

    mutating func report(_ kind: ContentVerification.Finding.Kind, _ path: FilePath, _ detail: String, _ remedy: String) {
        append(.init(kind: kind, path: path.string, detail: detail, remedy: remedy))
    }

    /// Reports a file or directory that cannot be read.
    mutating func reportUnreadable(_ path: FilePath, _ error: any Error) {
        report(.fault, path, "it cannot be read (\(error))", "check its owner and mode, and the disk")
    }

    /// Lists a directory, and reports the entries that do not belong there.
    ///
    /// - Parameters:
    ///   - directory: the directory; a missing one counts as empty.
    ///   - files: the file system.
    ///   - kind: returns the expected kind of an entry by its name; nil for a name that should not exist.
    /// - Returns: the sorted names of the entries with the expected kind.
    mutating func entries(of directory: FilePath, _ files: any FileLayer, expecting kind: (String) -> FileKind?) -> [String] {
        var entries: [String] = []
        do {
            // Another entry in its place has already been reported where it is listed. Links are not followed.
            for name in try (files.directoryNames(in: directory) ?? []).sorted() {
                let path = directory.appending(name)
                if let expected = kind(name) {
                    if check(path, expected, files) { entries.append(name) }
                } else {
                    reportStray(name, path)
                }
            }
        } catch {
            reportUnreadable(directory, error)
        }
        return entries
    }

    private mutating func check(_ path: FilePath, _ expected: FileKind, _ files: any FileLayer) -> Bool {
        do {
            let found = try files.kind(of: path)
            if found == nil || found == expected { return found != nil }
            let words: [FileKind: String] = [.file: "a file", .directory: "a directory", .other: "a link, a pipe or the like"]
            report(.fault, path, "it is \(words[found!]!), where \(words[expected]!) belongs", "move it away")
        } catch {
            reportUnreadable(path, error)
        }
        return false
    }

    private mutating func reportStray(_ name: String, _ path: FilePath) {
        if name.contains(".sync-conflict-") {
            report(
                .fault, path, "a synchroniser found two files of one name, but no two devices write one", "compare it with the other, and remove it")
        } else if ForeignNames.matches(name) {
            report(.remark, path, "it is another program's, and ignored", "leave it to that program")
        } else {
            report(.fault, path, "it does not belong here", "move it away")
        }
    }
}
