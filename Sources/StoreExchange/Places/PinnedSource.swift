package import StoreFormat
internal import Synchronization
package import SystemPackage

/// A public place as it was with one of its heads.
package final class PinnedSource: PlaceSource {
    private let source: any PlaceSource
    private let pinned: Mutex<[UInt8]>

    package init(_ source: any PlaceSource, at head: PlaceHistory.Entry) {
        self.source = source
        pinned = Mutex(head.bytes)
    }

    /// Shows a later head.
    package func pin(_ head: PlaceHistory.Entry) { pinned.withLock { $0 = head.bytes } }

    package func head(unless tag: String?) async throws -> PlaceAnswer? {
        let bytes = pinned.withLock { $0 }
        let hash = ContentHash(of: bytes).description
        return hash == tag ? nil : PlaceAnswer(bytes: bytes, tag: hash)
    }

    package func head(_ number: Int64, _ id: StatementIdentifier) async throws -> [UInt8] { try await source.head(number, id) }

    package func fetch(_ path: PublishedPath, _ file: PublishedFile, to draft: FilePath) async throws {
        try await source.fetch(path, file, to: draft)
    }
}
