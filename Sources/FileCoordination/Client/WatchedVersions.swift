import SystemPackage

/// The known versions beside a presenter's file.
struct WatchedVersions: Sendable {
    private let item: FilePath
    /// Whether the conflict of a version is resolved.
    private var known: [FileVersionIdentifier: Bool] = [:]

    init(of item: FilePath) { self.item = item }

    /// Returns these versions for an item that has moved; the next look reports versions that did not move along as
    /// lost.
    func followed(to item: FilePath) -> WatchedVersions {
        var versions = WatchedVersions(of: item)
        versions.known = known
        return versions
    }

    /// Looks at all versions.
    mutating func look() -> [PresenterMessage] {
        let copies = ConflictCopy.copies(of: item)
        var messages: [PresenterMessage] = []
        let present = Set(copies.map(\.name.identifier))
        for identifier in known.keys.sorted(by: { $0.rawValue < $1.rawValue }) where !present.contains(identifier) {
            messages += told(identifier, nil)
        }
        for copy in copies { messages += told(copy.name.identifier, copy.isResolved) }
        return messages
    }

    /// Looks at a path, if a version can be there.
    mutating func look(at path: FilePath) -> [PresenterMessage] {
        guard let name = Self.name(of: path), path.removingLastComponent().appending(name.original) == item else { return [] }
        return told(name.identifier, ConflictCopy(name, at: path)?.isResolved)
    }

    /// Returns the message about a version of an item inside a presented directory.
    ///
    /// - Parameters:
    ///   - path: the changed path.
    ///   - isNew: whether a file may have appeared there.
    /// - Returns: nil if there is nothing to report.
    static func subitemMessage(_ path: FilePath, isNew: Bool) -> PresenterMessage? {
        guard let name = name(of: path) else { return nil }
        let item = path.removingLastComponent().appending(name.original)
        let event: PresenterMessage.VersionEvent
        switch ConflictCopy(name, at: path)?.isResolved {
        case nil: event = .lost
        case false?:
            if !isNew { return nil }
            event = .gained
        case true?: event = .resolved
        }
        return .subitemVersion(event, name.identifier.rawValue, item)
    }

    private mutating func told(_ identifier: FileVersionIdentifier, _ isResolved: Bool?) -> [PresenterMessage] {
        let before = known[identifier]
        known[identifier] = isResolved
        let event: PresenterMessage.VersionEvent
        switch (before, isResolved) {
        case (nil, nil), (false?, false?), (true?, true?), (nil, true?): return []
        case (_, nil): event = .lost
        case (_, false?): event = .gained
        case (false?, true?): event = .resolved
        }
        return [.version(event, identifier.rawValue)]
    }

    private static func name(of path: FilePath) -> ConflictName? {
        path.lastComponent.flatMap { String(validating: $0) }.flatMap { ConflictName($0) }
    }
}
