import FileCoordination
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers

/// A version of a document, with the facts by which a person chooses.
struct ConflictVersion: Encodable {
    enum State: String, Encodable {
        /// It lost a conflict that nobody has resolved.
        case unresolved
        /// It lost a conflict that is resolved.
        case resolved
        /// An app has kept it, on this device only.
        case kept
    }

    /// Its place among the versions other than the current one, the newest first, from 1.
    let number: Int
    let id: String
    let state: State
    let date: Date
    /// The size in bytes; of a package, of all its files.
    let size: Int64
    /// The device that wrote it, if the name of its file tells it.
    let device: String?
    let path: String

    init(_ version: FileVersion, number: Int) {
        self.number = number
        id = version.persistentIdentifier.rawValue
        state = version.isKept ? .kept : version.isResolved ? .resolved : .unresolved
        (date, device, path) = (version.modificationDate, version.nameOfSavingComputer, version.path.string)
        size = Self.size(of: version.path)
    }

    /// Describes a conflict copy of a document that is not on this device.
    init(_ copy: ConflictCopy, date: Date, number: Int) {
        self.number = number
        id = copy.name.identifier.rawValue
        state = copy.isResolved ? .resolved : .unresolved
        (self.date, device, path) = (date, copy.name.device, copy.path.string)
        size = Self.size(of: copy.path)
    }

    /// Returns the size in bytes of a file, or of all files of a package, without following links.
    static func size(of path: FilePath) -> Int64 {
        guard let facts = (try? FileFacts(of: path)) ?? nil else { return 0 }
        guard facts.kind == .directory else { return facts.size }
        var size: Int64 = 0
        var pending = [path]
        while let directory = pending.popLast() {
            try? DirectoryScan.forEach(in: directory, sizes: true) { entry in
                size += entry.size
                if entry.kind == .directory, let name = entry.text { pending.append(directory.appending(name)) }
            }
        }
        return size
    }
}

extension ConflictVersion {
    /// The version on one line, without its path.
    var line: String {
        let state = state == .unresolved ? "" : "  (\(state.rawValue))"
        return "\(number)  \(date.formatted(.iso8601))  \(Self.text(ofSize: size))  \(writer)  \(id)\(state)".printable
    }

    private var writer: String { device ?? (state == .kept ? "this device" : "unknown device") }

    /// The version in a sentence.
    var words: String { "\(number) (\(date.formatted(.iso8601)), \(Self.text(ofSize: size)), \(writer))" }

    static func text(ofSize size: Int64) -> String { size.formatted(.byteCount(style: .file, spellsOutZero: false)) }
}

/// A document on this device, with its versions as they were at one time.
struct ConflictDocument {
    let path: FilePath
    let url: URL
    let current: FileVersion
    /// The versions other than the current one, the newest first.
    let others: [FileVersion]

    /// Looks up a document.
    ///
    /// - Parameter path: its path.
    /// - Returns: nil if it is not here.
    /// - Throws: `ContainerError`.
    static func find(_ path: FilePath) async throws -> ConflictDocument? {
        let url = URL(filePath: path.string, directoryHint: .notDirectory)
        guard let current = try await FileVersion.currentVersion(ofItemAt: url),
            let others = try await FileVersion.otherVersions(ofItemAt: url)
        else { return nil }
        return ConflictDocument(path: path, url: url, current: current, others: others)
    }

    /// The versions other than the current one, described.
    var versions: [ConflictVersion] { others.enumerated().map { ConflictVersion($1, number: $0 + 1) } }

    /// Returns the version that a person names.
    ///
    /// - Parameter text: a number or an id.
    /// - Returns: the version, and its description.
    /// - Throws: `Refusal`, which lists the versions that there are.
    func version(named text: String) throws -> (version: FileVersion, facts: ConflictVersion) {
        let versions = versions
        if let index = versions.firstIndex(where: { $0.id == text || "\($0.number)" == text }) { return (others[index], versions[index]) }
        let known = versions.map { "\($0.words): \($0.id)" }.joined(separator: "; ")
        throw Refusal("\(path) has no version \(text). It has \(known). Name one by its number or its id.")
    }

    /// Refuses a document without other versions.
    func requireVersions(_ versions: [FileVersion]) throws {
        guard versions.isEmpty else { return }
        throw Refusal(
            "\(path) has no version in conflict, so there is nothing to compare or resolve; see `ubcontrol conflict list --all`.",
            status: ToolExit.failure)
    }
}
