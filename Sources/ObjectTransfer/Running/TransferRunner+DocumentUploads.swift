/// The versions of this device, on their way up.
extension TransferRunner {
    /// Sends versions, as many bytes as a bulletin waits for, so that the next bulletin states them.
    func sendDocuments(_ work: DocumentWork) async throws {
        guard let documents else { return }
        for (path, version) in work.withdrawals.prefix(options.filesInOneBulletin) {
            try await move(path) {
                // Much can have happened since the work was planned.
                let seen = try await documents.look(at: path)
                guard seen.found.isEmpty, seen.unread.isEmpty, seen.damaged.isEmpty, seen.refused.isEmpty else {
                    self.desk.again.insert(path)
                    return
                }
                guard self.book.documents.steps(path, of: self.book.device, self.situation.downloads) == [.withdraw(version)] else { return }
                self.book.documents.withdraws(path, version)
                try self.keep()
                DocumentPoint.withdrawn.pass()
            }
        }
        var room = options.bytesInOneBulletin
        var count = options.filesInOneBulletin
        var batch: [(path: DocumentPath, version: DocumentVersion)] = []
        // The bytes of a placeholder that was moved are in the cloud already.
        func isMoved(_ path: DocumentPath) -> Bool { book.documents.records[path]?.isMovedPlaceholder == true }
        func rank(_ path: DocumentPath) -> Int { isMoved(path) ? 0 : faults[path.description] == nil ? 1 : 2 }
        for send in work.sends.sorted(by: { (rank($0.path), $0.path) < (rank($1.path), $1.path) }) {
            guard room > 0 || isMoved(send.path), count > 0 else { break }
            batch.append(send)
            // Of a large document only a part is sent in one pass.
            room -= isMoved(send.path) ? 0 : min(send.version.content?.size ?? 0, options.bytesInOneBulletin / 4)
            count -= max(1, (send.version.content?.files.count ?? 1) / 20)
        }
        guard !batch.isEmpty else { return }
        for (path, version) in batch { book.documents.intends(path, version) }
        try keep()
        DocumentPoint.intended.pass()
        try await forEachDocument(batch) { path, version in try await self.send(path, version) }
    }

    private func send(_ path: DocumentPath, _ version: DocumentVersion) async throws {
        guard let documents, let content = version.content else { return }
        let progress = board.begin(path, .upload, content.size, now: now())
        var isDone = false
        defer { board.end(path, isDone: isDone) }
        var before: Int64 = 0
        var room = options.bytesInOneBulletin
        for part in content.files {
            var offset: Int64 = 0
            for piece in part.chunks {
                defer {
                    offset += piece.size
                    before += piece.size
                    progress(before)
                }
                if book.documents.hasPiece(piece.hash, for: path) { continue }
                if book.documents.records[path]?.isMovedPlaceholder == true {
                    // It was sent under another name.
                    if let found = try await store.stat(RemoteLayout.path(ofPiece: piece.hash)), found.size ?? piece.size == piece.size { continue }
                    // What has its name in the cloud is shown instead.
                    if book.documents.records[path]?.shown != nil { return book.documents.forget(path) }
                    throw DocumentDisk.Fault(
                        "it was moved here while its bytes were elsewhere, and the cloud has them no more; delete it, or put a copy in its place")
                }
                // The rest is sent in the next pass, so that nothing waits for a large document.
                guard room > 0 else {
                    desk.hasMovedPart = true
                    return try keep()
                }
                room -= piece.size
                let staged = try await documents.stage(piece, at: offset, of: part.path, in: path)
                do {
                    try await store.put(staged, at: RemoteLayout.path(ofPiece: piece.hash)) { [before] done in progress(before + done) }
                    await documents.discard(staged)
                } catch {
                    await documents.discard(staged)
                    throw error
                }
                // It is kept with what follows: a piece that is sent once more does no harm.
                book.documents.sent(path, piece.hash)
                DocumentPoint.pieceSent.pass()
            }
        }
        // What has been edited since is another version.
        guard let record = book.documents.records[path], record.intent == version else { return }
        isDone = true
        book.documents.uploaded(path, version)
        faults[path.description] = nil
        try keep()
        DocumentPoint.uploaded.pass()
    }
}
