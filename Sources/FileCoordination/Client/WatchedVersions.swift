import SystemPackage

/// What a presenter of a file has been told of the versions that lie beside it (C-44).
struct WatchedVersions: Sendable {
    private let item: FilePath
    /// Whether the conflict of a version is resolved.
    private var known: [FileVersionIdentifier: Bool] = [:]

    init(of item: FilePath) { self.item = item }

    /// The same versions, of an item that is elsewhere; those that did not come along are told as lost by the next look.
    func followed(to item: FilePath) -> WatchedVersions {
        var versions = WatchedVersions(of: item)
        versions.known = known
        return versions
    }

    /// Looks at all of them.
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

    /// Looks at what is at a path, if that is the place of a version.
    mutating func look(at path: FilePath) -> [PresenterMessage] {
        guard let name = Self.name(of: path), path.removingLastComponent().appending(name.original) == item else { return [] }
        return told(name.identifier, ConflictCopy(name, at: path)?.isResolved)
    }

    /// What there is to tell of a version of something inside a presented directory.
    ///
    /// - Parameters:
    ///   - path: what has changed.
    ///   - isNew: whether something may have come there.
    /// - Returns: nil where there is nothing.
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
