import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers

/// How the content of a version differs from the current content of its document.
struct ConflictComparison: Encodable, Sendable {
    enum Kind: String, Encodable {
        /// The contents are equal.
        case same
        /// Both are text: ``ConflictComparison/diff``.
        case text
        /// One of them is no text in UTF-8.
        case binary
        /// A text is above the limits of a line difference.
        case tooLarge
        /// Both are packages: ``ConflictComparison/files``.
        case package
        /// One is a file, and the other is a package, or something that is neither.
        case kinds
    }

    /// A file of a package that differs.
    struct File: Encodable {
        enum Change: String, Encodable {
            /// Only the current version has it.
            case onlyCurrent
            /// Only the other version has it.
            case onlyVersion
            case changed
        }

        var path: String
        var change: Change
    }

    let kind: Kind
    /// The difference from the current version to the other one, in the form of `diff -u`.
    private(set) var diff: String?
    private(set) var files: [File]?
    /// The hash of the current content, in hexadecimal digits, if it is a file.
    private(set) var currentHash: String?
    /// The hash of the version's content.
    private(set) var hash: String?
    /// The lines of the difference, for a terminal.
    private(set) var lines: [LineDifference.Line] = []

    private enum CodingKeys: String, CodingKey {
        case kind, diff, files
        case currentHash = "currentSHA256"
        case hash = "sha256"
    }

    /// Compares two contents; blocks while it reads them, and the caller coordinates.
    ///
    /// - Parameters:
    ///   - current: the path of the current content.
    ///   - version: the path of the version.
    /// - Throws: `ContainerError` if one cannot be read.
    init(of current: FilePath, with version: FilePath) throws {
        switch (PathFacts(at: current).kind, PathFacts(at: version).kind) {
        case (.file, .file):
            let (old, new) = (try ConflictContent(of: current), try ConflictContent(of: version))
            (currentHash, hash) = ("\(old.hash)", "\(new.hash)")
            (kind, lines) = Self.compare(old, new, current, version)
            if !lines.isEmpty { diff = lines.map { $0.text + "\n" }.joined() }
        case (.directory, .directory):
            let found = try Self.files(of: ConflictPackage(at: current), ConflictPackage(at: version))
            kind = found.isEmpty ? .same : .package
            files = found
        case (.nothing, _), (.hidden, _):
            throw ContainerError(.fileSystem, "\(current) is gone, or cannot be inspected; check its directory's owner and mode.", path: current)
        case (_, .nothing), (_, .hidden):
            throw ContainerError(.fileSystem, "\(version) is gone, or cannot be inspected; check its directory's owner and mode.", path: version)
        default: kind = .kinds
        }
    }

    private static func compare(
        _ old: ConflictContent, _ new: ConflictContent, _ current: FilePath, _ version: FilePath
    ) -> (Kind, [LineDifference.Line]) {
        if old.hash == new.hash { return (.same, []) }
        switch (old.text, new.text) {
        case (.binary, _), (_, .binary): return (.binary, [])
        case (.tooLarge, _), (_, .tooLarge): return (.tooLarge, [])
        case (.lines(let old), .lines(let new)):
            guard let difference = LineDifference(from: old, to: new) else { return (.tooLarge, []) }
            return (.text, difference.unified(old: current.string, new: version.string))
        }
    }

    private static func files(of current: ConflictPackage, _ version: ConflictPackage) throws -> [File] {
        try Set(current.entries.keys).union(version.entries.keys).sorted().compactMap { name in
            guard current.entries[name] != nil else { return File(path: name, change: .onlyVersion) }
            guard version.entries[name] != nil else { return File(path: name, change: .onlyCurrent) }
            return try current.differs(from: version, at: name) ? File(path: name, change: .changed) : nil
        }
    }
}
