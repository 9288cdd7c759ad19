internal import ContentHashing
internal import Foundation

/// The pieces of all versions in the cloud.
extension TransferRunner {
    /// Compares the pieces that versions name with a listing, and sends again what is missing and here.
    func verifyPieces(_ found: inout Verification) async throws {
        guard let documents else { return }
        let listed = Dictionary(
            try await store.list(RemoteLayout.blobs).map { ("\(RemoteLayout.blobs)/\($0.path)", $0.size) }, uniquingKeysWith: { first, _ in first })
        var named: Set<String> = []
        for (path, record) in book.documents.records.sorted(by: { $0.key < $1.key }) {
            for part in record.versions.flatMap({ $0.content?.files ?? [] }) {
                var offset: Int64 = 0
                for piece in part.chunks {
                    defer { offset += piece.size }
                    let object = RemoteLayout.path(ofPiece: piece.hash)
                    guard named.insert(object).inserted else { continue }
                    found.named += 1
                    if let size = listed[object], size == nil || size == piece.size { continue }
                    found.missing.append(object)
                    guard record.isItemHere, record.local?.content.files.contains(part) == true else {
                        // Another document may have the same piece.
                        named.remove(object)
                        continue
                    }
                    guard let staged = try? await documents.stage(piece, at: offset, of: part.path, in: path) else { continue }
                    defer { Task { await documents.discard(staged) } }
                    try await store.put(staged, at: object) { _ in }
                    found.mended += 1
                }
            }
        }
        found.unnamed += listed.keys.filter { !named.contains($0) && !found.missing.contains($0) }.sorted()
    }

    /// Removes pieces that only superseded versions have named, after a while.
    func deletePieces() async throws {
        guard !book.documents.doomed.isEmpty else { return }
        let limit = now().addingTimeInterval(-(options.keepsRemoved / .seconds(1)))
        let due = Set(book.documents.doomed.lazy.filter { $0.value <= limit }.map(\.key))
        guard !due.isEmpty else { return }
        // Another device may have named one again during this pass.
        var outcome = Outcome()
        guard try await readNews(&outcome) else { return }
        let named = book.documents.named(due)
        for piece in due.sorted() {
            if !named.contains(piece) {
                do {
                    try await store.delete(RemoteLayout.path(ofPiece: piece))
                } catch let error as ObjectStoreError where error.kind != .unreachable {
                    continue
                }
            }
            book.undoom(piece)
        }
        book.documents.forget(sent: due.subtracting(named))
        try keep()
    }
}
