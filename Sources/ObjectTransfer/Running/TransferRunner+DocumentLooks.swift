internal import ContentHashing
internal import SystemPackage
internal import UbiquityContainers

/// What is on this device.
extension TransferRunner {
    /// Notes which documents are here, and reads those that have changed.
    func scanDocuments(_ look: Look) async throws {
        guard let documents else { return }
        documents.beginPass()
        // What other devices have as a package is one here too, whatever this device's rule is.
        let known = Set(book.documents.records.lazy.filter { $0.value.shown?.content?.isPackage == true }.map(\.key))
        var seen = DocumentDisk.Look()
        var gone: [DocumentPath] = []
        switch look {
        case .everything:
            seen = try await documents.scan(knowing: known)
            gone = book.documents.records.compactMap { $0.value.isHere && seen.found[$0.key] == nil ? $0.key : nil }
            desk.refused = seen.refused
        case .paths(_, let paths):
            let refused = desk.refused.keys.compactMap { DocumentPath($0) }
            for path in Set(paths.union(desk.again).union(refused).map { Self.whole($0, known) }).sorted() {
                let one = try await documents.look(at: path, isPackage: known.contains(path))
                seen.found.merge(one.found) { $1 }
                seen.strays += one.strays
                seen.unread += one.unread
                seen.damaged.formUnion(one.damaged)
                desk.refused[path.description] = one.refused[path.description]
                if one.found[path] == nil, one.refused.isEmpty { gone.append(path) }
            }
        }
        desk.again = []
        // A placeholder that stands where an item was: the item is gone, unless the item has come in the meantime.
        var replaced: Set<DocumentPath> = []
        for case (let path, .placeholder) in seen.found where book.documents.records[path]?.isItemHere == true {
            let now = try await documents.look(at: path, isPackage: known.contains(path))
            seen.found[path] = now.found[path]
            if now.found[path] == nil { desk.again.insert(path) } else { replaced.insert(path) }
            if case .placeholder(let placeholder)? = now.found[path],
                book.documents.records[path]?.local?.content.hash.description != placeholder.sha256
            {
                gone.append(path)
            }
        }
        // What cannot be read is there nevertheless, and so is a document whose placeholder cannot.
        func isUnclear(_ path: DocumentPath) -> Bool {
            desk.refused[path.description] != nil || desk.moving[path] != nil
                || seen.unread.contains { path.description == $0 || path.description.hasPrefix($0 + "/") }
                || seen.damaged.contains(Placeholder.path(of: documents.file(at: path)))
        }
        gone.removeAll(where: isUnclear)
        guard await disk.isThere() else { throw ObjectStoreError(.unreachable, "The containers root went away.") }
        let marked = Set(book.documents.records.lazy.map(\.key.container)).filter { book.isMarked($0, by: situation.peers) }
        book.documents.missed(gone, isWhole: look == .everything) { marked.contains($0) }
        if look == .everything {
            let unseen = book.documents.records.lazy.filter { $1.local == nil && !$1.isAbsent && marked.contains($0.container) }.map(\.key)
            book.documents.absent(Array(unseen.filter { seen.found[$0] == nil && !isUnclear($0) }))
        }
        desk.strays.formUnion(seen.strays)
        if !seen.damaged.isEmpty { try await mend(seen.damaged) }
        var changed: [DocumentPath] = []
        for (path, found) in seen.found where desk.moving[path] == nil {
            switch found {
            case .item(let stamp):
                if case .item(stamp)? = book.documents.records[path]?.local?.form { book.documents.seen(path, stamp) } else { changed.append(path) }
            case .placeholder(let placeholder):
                // The item has come since the look.
                let isStale = book.documents.records[path]?.isItemHere == true && !replaced.contains(path)
                if isStale { desk.again.insert(path) } else { match(path, placeholder) }
            }
        }
        try await readDocuments(changed.sorted())
        try await lookAtCopies()
    }

    /// Notes which conflict copies are resolved: those that somebody says are, and those that are gone in two looks.
    private func lookAtCopies() async throws {
        guard let documents else { return }
        desk.awaitsCopies = false
        for (path, record) in book.documents.records where !record.copies.isEmpty && record.isItemHere {
            let (resolved, gone) = try await documents.lookAtCopies(of: path, record.copies.keys)
            let before = desk.missingCopies[path] ?? []
            desk.missingCopies[path] = gone.isEmpty ? nil : gone
            desk.awaitsCopies = desk.awaitsCopies || !gone.isSubset(of: before)
            book.documents.resolved(path, resolved.union(gone.intersection(before)))
        }
    }

    /// The package of other devices in which a path lies, or the path.
    private static func whole(_ path: DocumentPath, _ packages: Set<DocumentPath>) -> DocumentPath {
        guard !packages.isEmpty else { return path }
        var place = path.description[...]
        while let end = place.lastIndex(of: "/") {
            place = place[..<end]
            if let above = DocumentPath(String(place)), packages.contains(above) { return above }
        }
        return path
    }

    /// Removes the placeholder of a document that is here; one of another document, which was moved beside it, gets a name of its own.
    private func settleStray(_ path: DocumentPath) async throws {
        guard let documents, let placeholder = Placeholder(at: Placeholder.path(of: documents.file(at: path))) else { return }
        let record = book.documents.records[path]
        let own = [record?.local?.content].compactMap(\.self) + (record?.versions.compactMap(\.content) ?? [])
        let isOwn = own.contains { $0.hash.description == placeholder.sha256 } || record?.hasReplaced(placeholder.sha256) == true
        if isOwn || book.documents.content(withHash: placeholder.sha256) == nil {
            try await documents.removeStray(path)
        } else if let name = try await documents.renameStray(path, but: Set(book.documents.records.keys)) {
            desk.again.insert(name)
        }
    }

    /// Writes placeholders again that are there and cannot be read.
    private func mend(_ damaged: Set<FilePath>) async throws {
        guard let documents else { return }
        for (path, record) in book.documents.records where !record.isItemHere && damaged.contains(Placeholder.path(of: documents.file(at: path))) {
            guard let content = record.local?.content ?? record.shown?.content else { continue }
            try await move(path) { _ = try await documents.hold(path, content, isEvicted: record.isEvicted) }
        }
    }

    /// Reads documents, a few at a time.
    private func readDocuments(_ paths: [DocumentPath]) async throws {
        guard let documents else { return }
        struct Reading: Sendable {
            var path: DocumentPath
            var result: Result<ReadDocument?, any Error>
        }
        try await withThrowingTaskGroup(of: Reading.self) { group in
            var rest = paths[...]
            func begin() {
                guard let path = rest.popFirst() else { return }
                group.addTask {
                    do {
                        return Reading(path: path, result: .success(try await documents.read(path)))
                    } catch {
                        return Reading(path: path, result: .failure(error))
                    }
                }
            }
            for _ in 0..<options.width { begin() }
            while let reading = try await group.next() {
                let path = reading.path
                switch reading.result {
                case .success(let read?):
                    if desk.moving[path] == nil { book.documents.found(path, read.content, .item(read.stamp)) } else { desk.again.insert(path) }
                    if read.stamp.value == 0 { desk.again.insert(path) }
                    if faults[path.description]?.isOfReading == true { faults[path.description] = nil }
                case .success(nil): break
                case .failure(let error):
                    try Task.checkCancellation()
                    setFault(path, "\(error)")
                    faults[path.description]?.isOfReading = true
                    desk.again.insert(path)
                }
                begin()
            }
        }
    }

    /// Notes a placeholder, if the version for which it stands is known.
    private func match(_ path: DocumentPath, _ placeholder: Placeholder) {
        let record = book.documents.records[path]
        if let content = record?.local?.content, content.hash.description == placeholder.sha256 {
            book.documents.found(path, content, .placeholder, isEvicted: placeholder.isEvicted)
        } else if let content = record?.versions.compactMap(\.content).first(where: { $0.hash.description == placeholder.sha256 }) {
            book.documents.found(path, content, .placeholder, isEvicted: placeholder.isEvicted)
        } else {
            desk.unmatched[path] = placeholder
        }
    }

    /// Looks again at placeholders whose versions were not known when they were found.
    func matchPlaceholders() async throws {
        guard let documents else { return }
        let open = desk.unmatched
        desk.unmatched = [:]
        for (path, placeholder) in open where book.documents.records[path]?.isItemHere != true { match(path, placeholder) }
        for (path, placeholder) in desk.unmatched {
            let record = book.documents.records[path]
            // A placeholder of an old version stays evicted; one that was put back or comes from another name is none.
            let isBack = record?.isAbsent == true || book.documents.isMissing(contentWithHash: placeholder.sha256, but: path)
            let isOld = !isBack && record?.hasReplaced(placeholder.sha256) == true
            if !isOld, let content = book.documents.content(withHash: placeholder.sha256) {
                desk.unmatched[path] = nil
                book.documents.found(path, content, .placeholder, isEvicted: placeholder.isEvicted, isMoved: true)
            } else if let content = record?.shown?.content {
                desk.unmatched[path] = nil
                try await move(path) {
                    guard try await documents.hold(path, content, isEvicted: placeholder.isEvicted) else { return }
                    self.book.documents.found(path, content, .placeholder, isEvicted: placeholder.isEvicted)
                }
            } else if isOld {
                // The index was lost, and the document was removed elsewhere.
                desk.unmatched[path] = nil
                try await move(path) { _ = try await documents.remove(path, nil) }
            }
        }
        for path in desk.strays.sorted() {
            desk.strays.remove(path)
            try await move(path) { try await self.settleStray(path) }
        }
        if !desk.hasTidied {
            desk.hasTidied = true
            let wanted = book.documents.records.values.filter { !$0.isItemHere || !$0.lost.isEmpty }.flatMap(\.live).compactMap(\.content)
            await documents.discardPieces(except: Set(wanted.map(\.hash.description)))
        }
    }
}
