internal import ContentHashing
internal import FileCoordination
internal import SystemPackage

/// The versions of other devices, on their way down.
extension TransferRunner {
    /// Writes placeholders, and fetches as much as a pass should; returns whether this device has too little space.
    func fetchDocuments() async throws -> Bool {
        guard let documents else { return false }
        let work = documentWork()
        for (path, _) in work.holds { book.documents.expects(path) }
        try keep()
        for (path, version) in work.holds {
            guard let content = version.content, await documents.hasContainer(of: path) else { continue }
            try await move(path) {
                let isEvicted = self.book.documents.records[path]?.isEvicted == true
                guard try await documents.hold(path, content, isEvicted: isEvicted) else {
                    self.desk.again.insert(path)
                    throw DocumentDisk.Fault("something else has its name here; it is looked at again")
                }
                DocumentPoint.held.pass()
                self.book.documents.found(path, content, .placeholder, isEvicted: isEvicted)
            }
        }
        try keep()
        var room = await disk.free().map { $0 - TransferOptions.leastFree } ?? .max
        var budget = options.bytesInOneBulletin * 4
        var batch: [(path: DocumentPath, version: DocumentVersion)] = []
        var isFull = false
        for fetch in work.fetches + work.copies {
            guard budget > 0, batch.count < options.filesInOneBulletin else { break }
            guard await documents.hasContainer(of: fetch.path) else { continue }
            let size = fetch.version.content?.size ?? 0
            // Its pieces and what they are put together to.
            guard room >= 2 * size else {
                isFull = true
                continue
            }
            room -= 2 * size
            budget -= min(size, options.bytesInOneBulletin)
            batch.append(fetch)
        }
        try await forEachDocument(batch) { path, version in try await self.carryOut(path, version) }
        return isFull
    }

    /// Fetches a version, in the document's place or beside it, if that still is to be done.
    private func carryOut(_ path: DocumentPath, _ version: DocumentVersion) async throws {
        let steps = book.documents.steps(path, of: book.device, situation.downloads)
        if steps.contains(.fetchCopy(version)) { return try await fetchCopy(path, version) }
        if steps.contains(.fetch(version)) { try await fetch(path, version, limit: options.bytesInOneBulletin) }
    }

    /// Fetches a version in the place of what is here.
    ///
    /// - Parameters:
    ///   - path: the document.
    ///   - version: the version.
    ///   - limit: how many bytes to fetch at most; the rest comes in another pass.
    /// - Throws: `DocumentDisk.Fault`; `ObjectStoreError`; `Errno`; `CancellationError`.
    func fetch(_ path: DocumentPath, _ version: DocumentVersion, limit: Int64 = .max) async throws {
        guard let documents, let content = version.content, let staged = try await assemble(path, content, limit) else { return }
        var old: DocumentStamp?
        var copyName: String?
        let record = book.documents.records[path]
        guard record?.isMovedPlaceholder != true else { return await documents.discard(staged) }
        if case .item(let stamp)? = record?.local?.form, record?.isHere == true {
            // An edit that came meanwhile is a version of its own first.
            guard record?.local?.isEdited == false else { return await documents.discard(staged) }
            old = stamp
            // What is here has lost a conflict, and need not be fetched again.
            if let own = record?.local?.content, let lost = record?.lost.first(where: { $0.content?.isSame(as: own) == true }) {
                let name = self.copyName(path, lost)
                // Without room for the name, the version stays in the cloud alone.
                if name.utf8.count <= 255 { copyName = name }
            }
        }
        book.documents.expects(path)
        do {
            try keep()
            guard let stamp = try await documents.place(staged, at: path, over: old, keeping: copyName) else {
                desk.again.insert(path)
                throw DocumentDisk.Fault("it has been changed here meanwhile; it is looked at again")
            }
            if let copyName, let lost = record?.lost.first(where: { self.copyName(path, $0) == copyName }) {
                book.documents.copied(path, copyName, lost)
            }
            book.documents.placed(path, version, stamp)
            faults[path.description] = nil
            try keep()
            DocumentPoint.found.pass()
            await documents.discardPieces(of: content)
        } catch {
            await documents.discard(staged)
            throw error
        }
    }

    /// Fetches a version that lost a conflict, beside the document.
    private func fetchCopy(_ path: DocumentPath, _ version: DocumentVersion) async throws {
        guard let documents, let content = version.content else { return }
        let name = copyName(path, version)
        guard name.utf8.count <= 255 else {
            throw DocumentDisk.Fault("another device has changed it at the same time, and its name is too long for a copy beside it; rename it")
        }
        guard let staged = try await assemble(path, content, options.bytesInOneBulletin) else { return }
        do {
            try await documents.placeCopy(staged, of: path, named: name)
            DocumentPoint.copied.pass()
        } catch {
            await documents.discard(staged)
            throw error
        }
        book.documents.copied(path, name, version)
        faults[path.description] = nil
        try keep()
        await documents.discardPieces(of: content)
    }

    /// The name under which every device shows a version that lost a conflict.
    private func copyName(_ path: DocumentPath, _ version: DocumentVersion) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        let device = String(ContentHash(of: Array(version.device.description.utf8)).bytes.prefix(7).map { alphabet[Int($0) % 32] })
        return ConflictName.name(for: path.name, modified: version.content?.modified ?? 0, device: device)
    }

    /// Fetches the pieces of a content that are not here yet, and puts them together.
    ///
    /// - Returns: nil if more than the limit was to be fetched.
    private func assemble(_ path: DocumentPath, _ content: DocumentContent, _ limit: Int64) async throws -> FilePath? {
        guard let documents else { throw DocumentDisk.Fault("documents are not carried") }
        let progress = board.begin(path, .download, content.size, now: now())
        var isDone = false
        defer { board.end(path, isDone: isDone) }
        let hash = content.hash
        var (before, left) = (Int64(0), limit)
        var seen: Set<ContentHash> = []
        for piece in content.files.lazy.flatMap(\.chunks) {
            defer {
                before += piece.size
                progress(before)
            }
            guard seen.insert(piece.hash).inserted, let target = try await documents.target(of: piece, of: hash) else { continue }
            guard left > 0 else {
                desk.hasMovedPart = true
                return nil
            }
            left -= piece.size
            do {
                try await store.get(RemoteLayout.path(ofPiece: piece.hash), size: piece.size, to: target) { [before] done in progress(before + done) }
                try await documents.arrived(target, piece, of: hash)
            } catch {
                await documents.discard(target)
                throw error
            }
            DocumentPoint.pieceFetched.pass()
        }
        let staged = try await documents.assemble(content)
        isDone = true
        DocumentPoint.assembled.pass()
        return staged
    }
}
