internal import Foundation
package import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// Fetches a public place into a store's mirror, and lets the store take it in.
package struct PlaceFetcher: Sendable {
    package let source: any PlaceSource
    package let place: PlaceContext
    package let container: ScopeIdentifier
    /// Lets the store read the mirror.
    package let exchange: @Sendable () async throws -> Void

    package init(
        source: any PlaceSource, place: PlaceContext, container: ScopeIdentifier, exchange: @escaping @Sendable () async throws -> Void
    ) {
        (self.source, self.place, self.container, self.exchange) = (source, place, container, exchange)
    }

    /// The number of files that are fetched at once.
    private static let breadth = 4
    /// The number of times that a store may need further files for one head.
    private static let rounds = 256

    /// Asks for the newest head, and fetches what the store needs of it.
    ///
    /// If the head is the one that has been taken in, this is one request, and nothing is written.
    ///
    /// - Returns: whether the head is new.
    /// - Throws: `PlaceSourceError` if something cannot be fetched, or the place cannot be read; the errors of the exchange;
    ///   `CancellationError`.
    package func poll() async throws -> Bool {
        let files = LinuxFileLayer()
        let tagFile = place.mirror.root.appending("tag")
        let head = place.mirror.path(.newestHead)
        let hasHead = (try? files.kind(of: head)) == .file
        let tag = hasHead ? (try? files.read(tagFile, limit: 4096)).map { String(decoding: $0, as: UTF8.self) } : nil
        let answer = try await source.head(unless: tag)
        if let answer {
            // An error page that a server sends with a status of success is no head.
            do {
                _ = try Signed<PublishedHead>(decoding: answer.bytes, in: container)
            } catch {
                throw PlaceSourceError("what the place sends as its head is of no use: \(error)")
            }
            try await blocking { try write(answer, head, tagFile) }
        } else if place.needs.isEmpty, place.fault == nil, place.isRead {
            return false
        }
        try await exchange()
        for _ in 0..<Self.rounds {
            let needs = place.needs
            guard !needs.isEmpty else { break }
            try await fetch(needs)
            try await exchange()
        }
        if let fault = place.fault { throw PlaceSourceError(fault) }
        guard place.needs.isEmpty else { throw PlaceSourceError("the place names more and more files for one head") }
        return answer != nil
    }

    private func write(_ answer: PlaceAnswer, _ head: FilePath, _ tagFile: FilePath) throws {
        let files = LinuxFileLayer()
        // Without its tag, the head is asked for again.
        try? files.remove(tagFile)
        let draft = try place.mirror.draft()
        try files.writeNew(draft, answer.bytes)
        try place.mirror.place(draft, at: .newestHead, isReplacing: true)
        guard let tag = answer.tag, tag.utf8.count <= 4096 else { return }
        let tagDraft = try place.mirror.draft()
        try files.writeNew(tagDraft, Array(tag.utf8))
        try files.renameOver(tagDraft, to: tagFile)
    }

    private func fetch(_ needs: [PlaceContext.Need]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, need) in needs.enumerated() {
                if index >= Self.breadth { try await group.next() }
                group.addTask { try await fetch(need) }
            }
            try await group.waitForAll()
        }
    }

    private func fetch(_ need: PlaceContext.Need) async throws {
        let files = LinuxFileLayer()
        if place.mirror.has(need.path, need.file) { return }
        let draft = try await blocking { try place.mirror.draft() }
        do {
            try await source.fetch(need.path, need.file, to: draft)
            try await blocking {
                guard try ContentHash(ofFile: draft) == need.file.hash else {
                    throw PlaceSourceError("\(need.path.components.joined(separator: "/")) does not have the bytes that the head says")
                }
                try place.mirror.place(draft, at: need.path)
            }
        } catch {
            try? files.remove(draft)
            throw error
        }
    }
}
