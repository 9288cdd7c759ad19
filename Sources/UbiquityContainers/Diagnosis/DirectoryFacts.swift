internal import Glibc
package import SystemPackage

/// The contents of one directory of a container.
package struct DirectoryFacts: Sendable {
    package struct Entry: Sendable {
        package enum Kind: Sendable, Equatable {
            case file
            case directory
            /// A symbolic link with this text, and whether it leads out of the container.
            case link(FilePath, isOut: Bool)
            /// A socket, pipe or device.
            case other
        }

        /// The name: any bytes except 0 and a slash.
        ///
        /// It is not a path component, because a directory may contain very many names and conversion is slow.
        package var bytes: [UInt8]
        /// The name as text, with replacement characters for invalid bytes.
        package var text: String
        package var isText: Bool
        package var kind: Kind

        package init(bytes: [UInt8], kind: Kind) {
            self.bytes = bytes
            self.kind = kind
            let valid = String(validating: bytes, as: UTF8.self)
            text = valid ?? String(decoding: bytes, as: UTF8.self)
            isText = valid != nil
        }

        package var name: FilePath.Component {
            (bytes + [0]).withUnsafeBytes { FilePath.Component(platformString: $0.assumingMemoryBound(to: CChar.self).baseAddress!)! }
        }
    }

    package var path: FilePath
    package var entries: [Entry]
    /// The error that prevented the listing.
    package var error: Errno?

    package init(path: FilePath, entries: [Entry] = [], error: Errno? = nil) {
        self.path = path
        self.entries = entries
        self.error = error
    }

    /// Lists a directory.
    ///
    /// - Parameters:
    ///   - path: the directory.
    ///   - container: the directory that links must not leave, without symbolic links.
    package init(of path: FilePath, in container: FilePath) {
        self.init(path: path)
        guard let stream = path.withPlatformString({ opendir($0) }) else {
            error = Errno(rawValue: errno)
            return
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { [UInt8]($0.prefix { $0 != 0 }) }
            guard bytes != Array(".".utf8), bytes != Array("..".utf8) else { continue }
            var made = Entry(bytes: bytes, kind: .other)
            made.kind = Self.kind(of: made, in: path, type: Int32(entry.pointee.d_type), container)
            entries.append(made)
        }
        if errno != 0 { error = Errno(rawValue: errno) }
        entries.sort { $0.text < $1.text }
    }

    private static func kind(of entry: Entry, in directory: FilePath, type: Int32, _ container: FilePath) -> Entry.Kind {
        // DT_DIR, DT_REG and DT_LNK of readdir(3); some file systems report no types.
        switch type {
        case 4: return .directory
        case 8: return .file
        case 10: return link(at: directory.appending(entry.name), container)
        case 0: break
        default: return .other
        }
        let path = directory.appending(entry.name)
        switch PathFacts(at: path).kind {
        case .directory: return .directory
        case .file: return .file
        case .link: return link(at: path, container)
        case .nothing, .other, .hidden: return .other
        }
    }

    private static func link(at path: FilePath, _ container: FilePath) -> Entry.Kind {
        let text = PathFacts.text(of: path)
        // A dangling link is judged by its text.
        let target = PathFacts.real(path) ?? path.removingLastComponent().pushing(text).lexicallyNormalized()
        return .link(text, isOut: !target.starts(with: container))
    }
}

extension DirectoryFacts {
    /// Returns whether an entry stays on this device, in or below a `*.nosync`.
    package static func isLocal(_ entry: Entry) -> Bool {
        entry.text.utf8.count >= suffix.count && entry.text.utf8.suffix(suffix.count).elementsEqual(suffix)
    }
    private static let suffix = Array(ItemPath.excludedSuffix.utf8)

    /// Walks a directory and everything below it, without following links.
    ///
    /// - Parameters:
    ///   - root: the first directory, without symbolic links.
    ///   - visit: receives each directory, and whether it stays on this device; returns the names of directories to
    ///     skip.
    package static func walk(_ root: FilePath, visit: (_ directory: DirectoryFacts, _ isLocal: Bool) throws -> Set<FilePath.Component>) rethrows {
        var pending: [(path: FilePath, isLocal: Bool)] = [(root, false)]
        while let (path, isLocal) = pending.popLast() {
            let directory = DirectoryFacts(of: path, in: root)
            let left = try visit(directory, isLocal)
            for entry in directory.entries.reversed() where entry.kind == .directory && !left.contains(entry.name) {
                pending.append((path.appending(entry.name), isLocal || Self.isLocal(entry)))
            }
        }
    }
}

extension DirectoryFacts {
    /// The problems that other devices or synchronisers would have with the entries; entries that stay on this device
    /// have none.
    package var findings: [Finding] {
        var found: [Finding] = []
        if let error {
            found.append(Finding(.fault, .item, path, "cannot be listed (\(error))", "check its owner and mode"))
        }
        var spellings: [String: String] = [:]
        for entry in entries where !Self.isLocal(entry) {
            func report(_ severity: Finding.Severity, _ what: String, _ remedy: String) {
                found.append(Finding(severity, .item, path.appending(entry.name), what, remedy))
            }
            for rule in entry.isText ? NameRule.broken(by: entry.text) : [.isText] { report(rule.severity, rule.what, rule.remedy) }
            switch entry.kind {
            case .link(let text, isOut: true):
                report(
                    .warning, "is a symbolic link out of the container, to \(text): its target stays on this device",
                    "replace the link with its target")
            case .other: report(.warning, "is neither a file nor a directory, and stays on this device", "keep it elsewhere")
            case .file, .directory, .link: break
            }
            if let other = spellings.updateValue(entry.text, forKey: NameRule.folded(entry.text)), !ForeignNames.matches(entry.text) {
                report(.warning, "differs from \(other) in case or spelling only: many other systems take both for one name", "rename one of the two")
            }
        }
        return found
    }
}
