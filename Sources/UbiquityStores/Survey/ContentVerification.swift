internal import SystemPackage
internal import UbiquityContainers

/// What a look at every file of a store's content finds; it writes nothing, and opens no store.
package struct ContentVerification: Sendable, Codable {
    /// One thing that is worth knowing.
    package struct Finding: Sendable, Codable, Hashable {
        /// How much it matters.
        package enum Kind: String, Sendable, Codable {
            /// A file cannot be used as it is, or does not belong where it lies.
            case fault
            /// A file that others need is nowhere.
            case gap
            /// Nothing is wrong.
            case remark
        }

        package var kind: Kind
        package var path: String
        /// What was found.
        package var detail: String
        /// What to do.
        package var remedy: String
    }

    /// How many logs of one peer another has not read.
    package struct Unread: Sendable, Codable {
        package var peer: String
        package var author: String
        package var logs: Int64
    }

    /// The content's name, as its directory has it.
    package var content: String
    package var path: String
    /// The highest epoch that a mark names; 0 where there is no mark.
    package var epoch: Int64 = 0
    // How many files were looked at.
    package var logs = 0
    package var values = 0
    package var baselines = 0
    package var receipts = 0
    package var marks = 0
    package var unread: [Unread] = []
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

    /// Reports a file or directory that the system does not let one read.
    mutating func reportUnreadable(_ path: FilePath, _ error: any Error) {
        report(.fault, path, "it cannot be read (\(error))", "check its owner and mode, and the disk")
    }

    /// Lists a directory, and reports what does not belong there.
    ///
    /// - Parameters:
    ///   - directory: where; what has gone meanwhile is empty.
    ///   - files: the file system.
    ///   - kind: what an entry of a name should be; nil where there should be none.
    /// - Returns: the names of the entries that are what they should be, in order.
    mutating func entries(of directory: FilePath, _ files: any FileLayer, expecting kind: (String) -> FileKind?) -> [String] {
        var entries: [String] = []
        do {
            // What lies in its place has been reported where it is listed, and no link is followed.
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
                .fault, path, "a synchroniser found two files of one name, and no two devices write one", "compare it with the other, and remove it")
        } else if ForeignNames.matches(name) {
            report(.remark, path, "it is another program's, and passed over", "leave it to that program")
        } else {
            report(.fault, path, "it does not belong here", "move it away")
        }
    }
}
