internal import SystemPackage
internal import UbiquityContainers

/// What is to be done for documents, as the book stands.
struct DocumentWork {
    /// The versions to send, in order of path.
    var sends: [(path: DocumentPath, version: DocumentVersion)] = []
    var withdrawals: [(path: DocumentPath, version: DocumentVersion)] = []
    var removals: [DocumentPath] = []
    var holds: [(path: DocumentPath, version: DocumentVersion)] = []
    /// The versions to fetch, the wanted ones first.
    var fetches: [(path: DocumentPath, version: DocumentVersion)] = []
    var copies: [(path: DocumentPath, version: DocumentVersion)] = []
    var drops: [(path: DocumentPath, name: String, copy: DocumentRecord.Copy)] = []
    /// The containers in which so many documents would go that a person decides, with the number.
    var guarded: [String: Int] = [:]

    /// Whether nothing is left but what has failed.
    func isDone(but failed: Set<String>) -> Bool {
        let paths = (sends + withdrawals + holds + fetches + copies).map(\.path) + removals + drops.map(\.path)
        return paths.allSatisfy { failed.contains($0.description) }
    }
}

/// What a runner is doing with documents.
struct DocumentDesk {
    /// The documents that are being moved, with those who wait for their turn.
    var moving: [DocumentPath: [CheckedContinuation<Void, Never>]] = [:]
    /// The placeholders of versions that no bulletin has stated yet.
    var unmatched: [DocumentPath: Placeholder] = [:]
    /// The documents that are here and have a placeholder too.
    var strays: Set<DocumentPath> = []
    /// What does not travel, with the reasons.
    var refused: [String: String] = [:]
    /// The documents that the next pass looks at again, because a look at them led to nothing.
    var again: Set<DocumentPath> = []
    /// The conflict copies that were missing in the last look.
    var missingCopies: [DocumentPath: Set<String>] = [:]
    /// Whether another look decides what missing copies mean.
    var awaitsCopies = false
    /// Whether this pass has moved a part of a document, and the next one goes on.
    var hasMovedPart = false
    /// Whether pieces that nobody wants any more have been removed from this device.
    var hasTidied = false
}

extension TransferRunner {
    // MARK: What is to be done

    /// Returns what is to be done for documents that nobody moves at this moment.
    func documentWork() -> DocumentWork {
        var work = DocumentWork()
        guard documents != nil else { return work }
        var here: [String: Int] = [:]
        for (path, record) in book.documents.records {
            if record.isHere { here[path.container, default: 0] += 1 }
            guard desk.moving[path] == nil, desk.refused[path.description] == nil else { continue }
            for step in book.documents.steps(path, of: book.device, situation.downloads) {
                switch step {
                case .send(let version): work.sends.append((path, version))
                case .withdraw(let version): work.withdrawals.append((path, version))
                case .fetch(let version): work.fetches.append((path, version))
                case .hold(let version): work.holds.append((path, version))
                case .fetchCopy(let version): work.copies.append((path, version))
                case .dropCopy(let name, let copy): work.drops.append((path, name, copy))
                case .remove: work.removals.append(path)
                }
            }
        }
        // A document that was moved as a placeholder is stated under its new name before its old one is withdrawn.
        let moved = Set(book.documents.records.values.lazy.filter(\.isMovedPlaceholder).compactMap { $0.local?.content.hash })
        work.withdrawals.removeAll { path, _ in
            guard !moved.isEmpty, let record = book.documents.records[path], let content = record.local?.content else { return false }
            return moved.contains(content.hash) && record.versions.contains { $0.content?.isSame(as: content) == true }
        }
        work.sends.sort { ($0.path, $0.version.vector.total) < ($1.path, $1.version.vector.total) }
        work.holds.sort { $0.path < $1.path }
        work.removals.sort()
        work.withdrawals.sort { $0.path < $1.path }
        work.copies.sort { $0.path < $1.path }
        let records = book.documents.records
        // Those that somebody waits for come first, and those that have failed before last.
        func rank(_ path: DocumentPath) -> Int { records[path]?.isWanted == true ? 0 : faults[path.description] == nil ? 1 : 2 }
        work.fetches.sort { (rank($0.path), $0.path) < (rank($1.path), $1.path) }
        guardRemovals(&work, here)
        return work
    }

    /// Leaves out removals of containers in which so many documents would go, here or elsewhere, that a person decides.
    private func guardRemovals(_ work: inout DocumentWork, _ here: [String: Int]) {
        let records = book.documents.records
        let here = here.merging(work.withdrawals.reduce(into: [:]) { $0[$1.path.container, default: 0] += 1 }) { $0 + $1 }
        // A removal that this device has stated itself is of no further harm.
        let going = work.removals.filter { records[$0]?.isHere == true } + work.withdrawals.map(\.path)
        let counts: [String: Int] = going.reduce(into: [:]) { $0[$1.container, default: 0] += 1 }
        for (container, count) in counts where !situation.allowed.contains(container) {
            if situation.limit.isPassed(by: count, of: here[container] ?? 0) { work.guarded[container] = count }
        }
        guard !work.guarded.isEmpty else { return }
        let guarded = Set(work.guarded.keys)
        work.removals.removeAll { guarded.contains($0.container) && records[$0]?.isHere == true }
        work.withdrawals.removeAll { guarded.contains($0.path.container) }
    }

    /// Removes what was removed elsewhere, and conflict copies of versions that are in conflict no more.
    func removeDocuments(_ work: DocumentWork) async throws {
        guard let documents else { return }
        for (path, name, copy) in work.drops {
            try await move(path) {
                try await documents.dropCopy(of: path, named: name, holding: copy.hash)
                self.book.documents.droppedCopy(path, name)
                try self.keep()
            }
        }
        for path in work.removals {
            try await move(path) {
                // Much can have happened since the work was planned.
                guard self.book.documents.steps(path, of: self.book.device, self.situation.downloads).contains(.remove) else { return }
                var stamp: DocumentStamp?
                if case .item(let known)? = self.book.documents.records[path]?.local?.form { stamp = known }
                guard try await documents.remove(path, stamp) else {
                    // It has been changed since it was looked at.
                    self.desk.again.insert(path)
                    throw DocumentDisk.Fault("it was removed elsewhere and changed here; it is looked at again")
                }
                DocumentPoint.removed.pass()
                self.book.documents.removed(path)
                self.faults[path.description] = nil
                try self.keep()
            }
        }
    }

    // MARK: One document at a time

    /// Moves a document while nobody else does; a fault of it alone is noted.
    func move(_ path: DocumentPath, _ body: () async throws -> Void) async throws {
        do {
            try await holding(path, body)
        } catch let fault as DocumentDisk.Fault {
            setFault(path, fault.description)
        } catch let error as Errno where error != .noSpace && error != .diskQuotaExceeded {
            setFault(path, "\(error)")
        }
    }

    /// Waits until nobody else moves a document, and keeps others waiting meanwhile.
    func holding(_ path: DocumentPath, _ body: () async throws -> Void) async throws {
        while desk.moving[path] != nil {
            await withCheckedContinuation { waiter in
                // It may have ended before this block runs.
                if desk.moving[path] == nil { waiter.resume() } else { desk.moving[path]?.append(waiter) }
            }
        }
        desk.moving[path] = []
        defer { for waiter in desk.moving.removeValue(forKey: path) ?? [] { waiter.resume() } }
        try await body()
    }

    /// Runs a body for each document, a few at a time; see ``forEach(_:_:)``.
    func forEachDocument(
        _ batch: [(path: DocumentPath, version: DocumentVersion)], _ body: @escaping @Sendable (DocumentPath, DocumentVersion) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: (DocumentPath, (any Error)?).self) { group in
            var rest = batch[...]
            var fault: (any Error)?
            func begin() {
                guard fault == nil, let (path, version) = rest.popFirst() else { return }
                group.addTask {
                    do {
                        try await self.holding(path) { try await body(path, version) }
                        return (path, nil)
                    } catch {
                        return (path, error)
                    }
                }
            }
            for _ in 0..<options.width { begin() }
            while let (path, error) = try await group.next() {
                switch error {
                case nil: break
                case let error as ObjectStoreError where !error.isOfStore: setFault(path, error.reason)
                case let error as DocumentDisk.Fault: setFault(path, error.description)
                case let error as Errno where error != .noSpace && error != .diskQuotaExceeded: setFault(path, "\(error)")
                case let error?: if fault == nil { fault = error }
                }
                begin()
            }
            if let fault { throw fault }
        }
    }
}
