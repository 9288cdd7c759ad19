internal import Foundation
internal import SystemPackage
package import UbiquityContainers

extension TransferRunner {
    // MARK: Up

    /// Sends files, so that the next bulletin names them.
    ///
    /// - Throws: `ObjectStoreError` if the store can take no more now; what it has taken is noted.
    func upload(_ moves: [TransferPlan.Move]) async throws {
        guard !moves.isEmpty else { return }
        let again = Set(moves.map(\.path).filter { book.files[$0]?.intent != nil })
        // What the remote may hold already is compared first, and is not touched if it is something else.
        for move in moves where again.contains(move.path) || !isFound(move.path) { book.intends(move.path, move.version) }
        try keep()
        TransferStep.intended.pass()
        try await forEach(moves) { move in
            try await self.upload(move, isAgain: again.contains(move.path))
        }
    }

    private func upload(_ move: TransferPlan.Move, isAgain: Bool) async throws {
        let object = RemoteLayout.path(of: move.path)
        // Somebody has sent it and told nobody yet, or this device has lost its index. The bytes decide whether it is this file.
        let isFound = !isAgain && isFound(move.path)
        let found = isFound ? try await compare(object, with: move.version) : .nothing
        // What nobody vouches for under the path of an own peer is an upload of this device that a crash has cut off.
        if found == .other, !situation.peers.contains(move.path.peer) {
            return setFault(move.path, "the remote holds other bytes under its name")
        }
        if found != .same {
            if isFound {
                book.intends(move.path, move.version)
                try keep()
            }
            let progress = board.begin(move.path, .upload, move.version.size, now: now())
            do {
                try await store.put(disk.file(at: move.path), at: object, progress: progress)
                board.end(move.path, isDone: true)
            } catch {
                board.end(move.path, isDone: false)
                if (error as? ObjectStoreError)?.kind == .notFound, try await disk.size(of: move.path) == nil {
                    // It went while it was sent.
                    book.missed([move.path], peers: situation.peers, isWhole: false)
                    return try keep()
                }
                throw error
            }
        }
        TransferStep.sent.pass()
        book.uploaded(move.path, move.version)
        faults[move.path.description] = nil
        try keep()
        TransferStep.uploaded.pass()
    }

    /// Whether the remote held an object of this path before this device had published anything.
    private func isFound(_ path: TransferPath) -> Bool {
        guard case .listed(let objects) = foundObjects else { return false }
        return objects.contains(path.description)
    }

    /// What an object has, compared with the bytes of a file.
    private enum Found {
        case nothing
        case same
        case other
    }

    private func compare(_ object: String, with version: FileDigest) async throws -> Found {
        let staged = try await disk.stage()
        do {
            try await store.get(object, size: version.size, to: staged) { _ in }
            let found = try await disk.check(staged: staged)
            await disk.discard(staged)
            return found == version ? .same : .other
        } catch {
            await disk.discard(staged)
            switch (error as? ObjectStoreError)?.kind {
            case .notFound: return .nothing
            // An encrypted object that is cut off cannot be decrypted.
            case .other: return .other
            default: throw error
            }
        }
    }

    /// Publishes what has been done and not told.
    func publish() async throws {
        guard let draft = book.write(peers: situation.peers) else { return }
        try keep()
        TransferStep.drafted.pass()
        try await send(draft.bytes, to: RemoteLayout.path(of: draft.name))
        TransferStep.published.pass()
        let former = book.published(now: now())
        try keep()
        TransferStep.recorded.pass()
        // The inventory says everything that these said. One that stays is passed over by readers.
        for name in former {
            try? await store.delete(RemoteLayout.path(of: name))
            TransferStep.tidied.pass()
        }
    }

    // MARK: Down

    /// Fetches files; returns whether this device has too little space for more.
    func download(_ moves: [TransferPlan.Move]) async throws -> Bool {
        // What a file needs is in its place before the file is.
        for role in TransferPath.Role.allCases {
            let wave = moves.filter { $0.path.role == role }
            guard !wave.isEmpty else { continue }
            var room = await disk.free().map { $0 - TransferOptions.leastFree } ?? .max
            let fitting = wave.prefix { move in
                room -= move.version.size
                return room >= 0
            }
            try await forEach(Array(fitting)) { move in try await self.download(move) }
            if fitting.count < wave.count { return true }
        }
        return false
    }

    private func download(_ move: TransferPlan.Move) async throws {
        let staged = try await disk.stage()
        let progress = board.begin(move.path, .download, move.version.size, now: now())
        do {
            try await store.get(RemoteLayout.path(of: move.path), size: move.version.size, to: staged, progress: progress)
            guard try await disk.check(staged: staged) == move.version else {
                throw ObjectStoreError(.other, "the object has other bytes than its bulletin says; it may be cut off")
            }
            TransferStep.fetched.pass()
            if try await !disk.place(staged, at: move.path) {
                await disk.discard(staged)
                guard let found = try await disk.version(of: move.path) else { throw ObjectStoreError(.other, "its place is taken by no file") }
                book.found(move.path, found)
            } else {
                TransferStep.placed.pass()
                book.found(move.path, move.version)
            }
            board.end(move.path, isDone: true)
            faults[move.path.description] = nil
            try keep()
            TransferStep.found.pass()
        } catch {
            board.end(move.path, isDone: false)
            await disk.discard(staged)
            throw error
        }
    }

    /// Runs a body for each file, a few at a time.
    ///
    /// A fault of one file is noted. After a fault of the whole store nothing more begins, and it is thrown.
    private func forEach(_ moves: [TransferPlan.Move], _ body: @escaping @Sendable (TransferPlan.Move) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: (TransferPlan.Move, (any Error)?).self) { group in
            var rest = moves[...]
            var fault: (any Error)?
            func begin() {
                guard fault == nil, let move = rest.popFirst() else { return }
                group.addTask {
                    do {
                        try await body(move)
                        return (move, nil)
                    } catch {
                        return (move, error)
                    }
                }
            }
            for _ in 0..<options.width { begin() }
            while let (move, error) = try await group.next() {
                switch error {
                case nil: break
                case let error as ObjectStoreError where !error.isOfStore: setFault(move.path, error.reason)
                case let error as Errno where error != .noSpace && error != .diskQuotaExceeded: setFault(move.path, "\(error)")
                case let error?: if fault == nil { fault = error }
                }
                begin()
            }
            if let fault { throw fault }
        }
    }

    // MARK: Objects that are gone for good

    /// Removes the objects of files that this device has told to be gone, after a while.
    func deleteDoomed() async throws {
        let limit = now().addingTimeInterval(-(options.keepsRemoved / .seconds(1)))
        for path in book.files.compactMap({ path, record in record.doomed.flatMap { $0 <= limit ? path : nil } }).sorted() {
            do {
                try await store.delete(RemoteLayout.path(of: path))
            } catch let error as ObjectStoreError where error.kind != .unreachable {
                // A key may be allowed to add only; the object does no harm.
                continue
            }
            book.deleted(path)
            try keep()
            TransferStep.deleted.pass()
        }
    }

    // MARK: On request

    /// What a comparison of the bulletins with a listing has found.
    package struct Verification: Hashable, Sendable, Codable {
        /// The files, and the pieces of documents, that bulletins name.
        package var named = 0
        /// The named files that the listing lacks or shows with another size.
        package var missing: [String] = []
        /// The number of missing files that this device has and uploads again.
        package var mended = 0
        /// The objects that no bulletin names: uploads that have not ended, and files of others.
        package var unnamed: [String] = []
    }

    /// Compares what the bulletins name with a listing of all objects, and has missing ones uploaded again.
    ///
    /// A listing is no proof of absence, but an object that is uploaded again does no harm.
    ///
    /// - Returns: what was found; the uploads happen in the next pass.
    /// - Throws: `ObjectStoreError`; the errors of the memory.
    package func verify() async throws -> Verification {
        let objects = Dictionary(try await store.list(RemoteLayout.files).map { ($0.path, $0.size) }, uniquingKeysWith: { first, _ in first })
        var found = Verification()
        for (path, record) in book.files.sorted(by: { $0.key < $1.key }) {
            guard let version = record.vouched, !book.isGone(path) else { continue }
            found.named += 1
            if let size = objects[path.description], size == nil || size == version.size { continue }
            found.missing.append(path.description)
            if record.isHere, record.local == version {
                found.mended += 1
                book.lost(path)
            }
        }
        found.unnamed = objects.keys.filter { object in
            guard let path = TransferPath(object, of: account), let record = book.files[path] else { return true }
            return record.vouches.isEmpty && record.withdrawn.isEmpty && record.untold == nil
        }.sorted()
        try keep()
        try await verifyPieces(&found)
        return found
    }

    /// Fills the remote again from this device, whatever it holds.
    ///
    /// - Throws: the errors of the memory.
    package func republish() async throws {
        book.republish(as: TransferDevice(newIdentifier()))
        (foundObjects, quarantine, faults) = (.needed, [:], [:])
        idleGeneration = -1
        try keep()
    }

    /// Returns the state of a file, as its owner's app sees it.
    package func state(of path: TransferPath) -> ItemState {
        guard let record = book.files[path] else { return ItemState(.unknown) }
        let size = record.local?.size ?? record.vouched?.size
        if let fault = faults[path.description] { return ItemState(.failed, size: size, failure: fault.reason) }
        let entry = board.entry(path.description)
        if record.isHere {
            if book.isGone(path) { return ItemState(.downloaded, size: size) }
            if !record.vouches.isEmpty, let local = record.local, record.vouches.values.contains(local) { return ItemState(.current, size: size) }
            if let entry { return ItemState(.uploading, size: size, progress: entry.progress(now: now())) }
            return ItemState(.waitingToUpload, size: size)
        }
        guard !record.vouches.isEmpty, !book.isGone(path) else { return ItemState(.unknown) }
        if let entry { return ItemState(.downloading, size: size, progress: entry.progress(now: now())) }
        return ItemState(.notDownloaded, size: size)
    }
}
