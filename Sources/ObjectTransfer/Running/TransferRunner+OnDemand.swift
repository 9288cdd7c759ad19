internal import Foundation
internal import Logging
internal import SystemPackage
package import UbiquityContainers

/// Why a document is not fetched or evicted.
package struct OnDemandRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason, with the remedy.
    package var description: String
    package init(_ description: String) { self.description = description }
}

extension TransferRunner {
    /// Whether this device or a bulletin that it has read has a document.
    package func knows(_ path: DocumentPath) -> Bool {
        book.documents.records[path].map { $0.isItemHere || $0.shown != nil || $0.isMovedPlaceholder } ?? false
    }

    /// Notes that somebody wants the newest version of a document, so that the next pass fetches it.
    ///
    /// - Returns: whether there is anything to fetch.
    /// - Throws: ``OnDemandRefusal`` if the cloud has no such document.
    package func want(_ path: DocumentPath) throws -> Bool {
        if book.documents.records[path]?.isMovedPlaceholder == true {
            throw OnDemandRefusal("\(path) was moved here while its bytes were elsewhere, and is on its way up under this name; try again.")
        }
        guard let record = book.documents.records[path], record.isItemHere || record.shown != nil else {
            throw OnDemandRefusal("\(path): neither this device nor the cloud has it, as far as the bulletins say.")
        }
        // An edit here, and what is here, need no fetching; a newer version comes by itself.
        guard !record.isItemHere else { return false }
        book.documents.wants(path, true)
        try keep()
        return true
    }

    /// Fetches a wanted document now, beside whatever else is transferred.
    ///
    /// - Throws: ``OnDemandRefusal`` with the reason; `CancellationError`.
    package func fetchNow(_ path: DocumentPath) async throws {
        guard let documents else { return }
        do {
            try await holding(path) {
                guard let record = self.book.documents.records[path], !record.isItemHere, let shown = record.shown, let content = shown.content
                else { return }
                if let free = await self.disk.free(), free - TransferOptions.leastFree < 2 * content.size {
                    throw OnDemandRefusal(
                        "\(path) has \(content.size) bytes, and only \(free) are free here, of which \(TransferOptions.leastFree) stay free.")
                }
                guard await documents.hasContainer(of: path) else { throw OnDemandRefusal("\(path): its container is not on this device.") }
                try await self.fetch(path, shown)
            }
        } catch let error as ObjectStoreError {
            setFault(path, error.reason)
            throw OnDemandRefusal("\(path) cannot be fetched: \(error.reason)")
        } catch let fault as DocumentDisk.Fault {
            setFault(path, fault.description)
            throw OnDemandRefusal("\(path) cannot be fetched: \(fault)")
        } catch let error as Errno {
            setFault(path, "\(error)")
            throw OnDemandRefusal("\(path) cannot be fetched: \(error)")
        }
        guard book.documents.records[path]?.isItemHere == true else {
            throw OnDemandRefusal("\(path) cannot be fetched: \(faults[path.description]?.reason ?? "it was removed meanwhile").")
        }
    }

    /// Evicts a document: its bytes go, and its placeholder stays.
    ///
    /// The caller holds a coordinated write of it.
    /// Only what a published bulletin states goes, after the remote has confirmed each piece.
    ///
    /// - Throws: ``OnDemandRefusal`` with the reason; then the document is as it was. `CancellationError`.
    package func evict(_ path: DocumentPath) async throws {
        guard let documents else { throw OnDemandRefusal("\(path): this cloud carries no documents.") }
        if let record = book.documents.records[path], case .placeholder? = record.local?.form, record.isHere { return }
        if let folder = DirectoryProbe.synchronisedFolder(above: documents.file(at: path)) {
            throw OnDemandRefusal("\(path) cannot be evicted: Syncthing carries \(folder), and would take a missing file for a deletion.")
        }
        if situation.downloads.isPinned(path) {
            throw OnDemandRefusal("\(path) is kept on this device; let it go first with: ubcontrol item unpin")
        }
        // The caller's claim keeps out whatever else moves it now, so a wait for that would have no end.
        guard desk.moving[path] == nil else { throw OnDemandRefusal("\(path) is being transferred; try again.") }
        do {
            try await holding(path) {
                // What has been written since the last look is an edit.
                let seen = try await documents.look(at: path)
                if case .item(let stamp)? = seen.found[path] {
                    if case .item(stamp)? = self.book.documents.records[path]?.local?.form, stamp.value != 0 {
                    } else if let read = try await documents.readHeld(path) {
                        self.book.documents.found(path, read.content, .item(read.stamp))
                        try self.keep()
                    }
                }
                guard let record = self.book.documents.records[path], record.isItemHere, let content = record.local?.content else {
                    throw OnDemandRefusal("\(path) is not on this device, or is no document that a cloud carries.")
                }
                guard record.isCurrent, record.intent == nil, record.untold == nil else {
                    throw OnDemandRefusal("\(path) has changes that are not in the cloud yet; wait until its status is current.")
                }
                guard record.lost.isEmpty, record.copies.isEmpty else {
                    throw OnDemandRefusal("\(path) has versions in conflict; resolve them first.")
                }
                try await self.confirm(path, content)
                try await documents.evict(path, content)
                self.book.documents.evicted(path)
                try self.keep()
                DocumentPoint.evicted.pass()
            }
        } catch let fault as DocumentDisk.Fault {
            throw OnDemandRefusal("\(path) cannot be evicted: \(fault).")
        } catch let error as ObjectStoreError {
            throw OnDemandRefusal("\(path) cannot be evicted, because the cloud does not confirm that it has it: \(error.reason)")
        } catch let error as Errno {
            throw OnDemandRefusal("\(path) cannot be evicted: \(error).")
        }
    }

    /// Asks the remote for each piece of a content.
    private func confirm(_ path: DocumentPath, _ content: DocumentContent) async throws {
        let pieces = content.chunks.sorted { $0.hash < $1.hash }
        let isMissing = try await withThrowingTaskGroup(of: Bool.self) { [store] group in
            var rest = pieces[...]
            func begin() {
                guard let piece = rest.popFirst() else { return }
                group.addTask {
                    guard let found = try await store.stat(RemoteLayout.path(ofPiece: piece.hash)) else { return true }
                    return found.size.map { $0 != piece.size } ?? false
                }
            }
            for _ in 0..<options.width { begin() }
            var isMissing = false
            while let missing = try await group.next() {
                isMissing = isMissing || missing
                if !isMissing { begin() }
            }
            return isMissing
        }
        guard isMissing else { return }
        throw OnDemandRefusal("\(path) cannot be evicted: the cloud lacks a piece of it; see: ubcontrol transfer verify")
    }

    /// Evicts documents that were not used for the longest time, until enough space is free.
    ///
    /// - Parameters:
    ///   - least: the free bytes to reach.
    ///   - coordinated: runs an eviction inside a coordinated write; presenters may refuse.
    /// - Returns: how many were evicted.
    /// - Throws: `CancellationError`.
    package func evictForSpace(
        _ least: Int64, _ coordinated: @Sendable (DocumentPath, _ evict: @escaping @Sendable () async throws -> Void) async throws -> Void
    ) async throws -> Int {
        guard let documents, var free = await disk.free(), free < least else { return 0 }
        var candidates: [(use: Int64, path: DocumentPath, size: Int64)] = []
        for (path, record) in book.documents.records
        where record.isCurrent && record.untold == nil && record.intent == nil && record.lost.isEmpty && record.copies.isEmpty
            && !situation.downloads.isPinned(path) && !record.isWanted
        {
            candidates.append((await documents.lastUse(of: path), path, record.local?.content.size ?? 0))
        }
        var (count, refusals) = (0, 0)
        for candidate in candidates.sorted(by: { ($0.use, $0.path) < ($1.use, $1.path) }) where candidate.size > 0 {
            // Those that refuse are asked again in another pass, a few at a time.
            guard free < least, refusals < 3 else { break }
            try Task.checkCancellation()
            do {
                try await coordinated(candidate.path) { try await self.evict(candidate.path) }
                count += 1
                free = await disk.free() ?? least
            } catch let error as CancellationError {
                throw error
            } catch {
                // It is in use, or its presenter refuses; the next one may go.
                refusals += 1
                log?.info("\(candidate.path) stays: \(error)")
            }
        }
        return count
    }

    /// Returns the state of a document, as its owner's app sees it.
    package func state(of path: DocumentPath) -> ItemState {
        if let reason = desk.refused[path.description] { return ItemState(.failed, failure: reason) }
        guard let record = book.documents.records[path] else { return ItemState(.unknown) }
        let content = record.isItemHere ? record.local?.content : record.shown?.content
        var state = ItemState(.unknown, size: content?.size, isDirectory: content?.isPackage == true)
        let entry = board.entry(path.description)
        state.progress = entry?.progress(now: now())
        if let fault = faults[path.description] {
            (state.status, state.failure) = (.failed, fault.reason)
        } else if record.isItemHere {
            if !record.lost.isEmpty {
                state.status = .conflicted
            } else if record.isCurrent, record.untold == nil {
                state.status = .current
            } else if record.local?.isEdited == true || record.untold != nil {
                state.status = entry == nil ? .waitingToUpload : .uploading
            } else {
                state.status = entry == nil ? .downloaded : .downloading
            }
        } else if record.isMovedPlaceholder {
            (state.status, state.size) = (.waitingToUpload, record.local?.content.size)
        } else if record.shown != nil {
            state.status = entry == nil && desk.moving[path] == nil && !record.isWanted ? .notDownloaded : .downloading
        }
        return state
    }
}
