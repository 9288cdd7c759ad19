package import ContentHashing
package import Foundation

/// Everything that a device knows of an account's documents, and what follows from it; a part of the ``TransferBook``.
///
/// Versions form a join: in whatever order bulletins come, every device keeps the same ones, and shows the same one under the
/// document's name. Nothing is overwritten: an edit that did not know another one is in conflict with it, and an edit beats a
/// removal that did not know it.
package struct DocumentBook: Sendable {
    package private(set) var records: [DocumentPath: DocumentRecord] = [:]
    /// How many versions name each piece, so that it need not be sent again.
    private var pieces: [ContentHash: Int] = [:]
    /// The pieces that only versions named that are superseded, and when this device noticed that.
    package private(set) var doomed: [ContentHash: Date] = [:]
    /// Counts the changes.
    package private(set) var generation = 0
    /// The documents whose records have changed since they were last taken.
    private var changed: Set<DocumentPath> = []

    package init() {}

    package init(records: [DocumentPath: DocumentRecord], doomed: [ContentHash: Date]) {
        (self.records, self.doomed) = (records, doomed)
        for record in records.values { for version in record.versions { count(version, by: 1) } }
    }

    // MARK: Documents here

    /// Notes what stands for a document here.
    ///
    /// - Parameters:
    ///   - path: the document.
    ///   - content: the content of the item, or of the version that the placeholder names.
    ///   - form: how it is here.
    ///   - isEvicted: for a placeholder, whether somebody has evicted the document.
    ///   - isMoved: for a placeholder, whether it comes from another name.
    package mutating func found(
        _ path: DocumentPath, _ content: DocumentContent, _ form: DocumentRecord.Local.Form, isEvicted: Bool = false, isMoved: Bool = false
    ) {
        update(path) { record in
            (record.isHere, record.isMissed) = (true, false)
            if form == .placeholder { record.isEvicted = record.isEvicted || isEvicted }
            // What is like a version contains its edits, wherever it has come from.
            let same = record.versions.filter { $0.content?.isSame(as: content) == true }
            if !same.isEmpty {
                let isUnchanged = record.local?.content.isSame(as: content) == true
                // Somebody has chosen a version that had lost a conflict, and so has made an edit.
                let isChoice = record.local != nil && !isUnchanged && form != .placeholder && record.shown?.content?.isSame(as: content) == false
                let former = isUnchanged || isChoice ? record.local?.base : nil
                let base = same.reduce(former ?? VersionVector()) { $0.joined($1.vector) }
                let isChosen = isChoice || isUnchanged && record.local?.isChosen == true
                record.local = .init(form: form, content: content, base: base, isEdited: isChosen)
                record.local?.isChosen = isChosen
            } else if let local = record.local {
                record.local = .init(
                    form: form, content: content, base: local.base, isEdited: local.isEdited || !local.content.isSame(as: content))
            } else if record.isAbsent {
                // Somebody has written it, knowing that there was none: also what was removed can be put back.
                let removals = record.versions.filter { $0.content == nil }
                record.local = .init(form: form, content: content, base: removals.reduce(VersionVector()) { $0.joined($1.vector) }, isEdited: true)
            } else {
                // The index was lost: what a version has replaced is no edit.
                let isEdited = form == .placeholder ? isMoved : !record.isOld(content)
                record.local = .init(form: form, content: content, base: VersionVector(), isEdited: isEdited)
            }
            (record.isAbsent, record.mayBeOld, record.former) = (false, false, nil)
            if let intent = record.intent, intent.content?.isSame(as: content) != true { record.intent = nil }
            if form != .placeholder { (record.isEvicted, record.isWanted) = (false, false) }
        }
    }

    /// Notes that a version has got its place here.
    package mutating func placed(_ path: DocumentPath, _ version: DocumentVersion, _ stamp: DocumentStamp) {
        guard let content = version.content else { return }
        update(path) { record in
            let same = record.versions.filter { $0.content?.isSame(as: content) == true }
            let base = same.reduce(version.vector) { $0.joined($1.vector) }
            record.local = .init(form: .item(stamp), content: content, base: base, isEdited: false)
            (record.isHere, record.isMissed, record.isEvicted, record.isWanted) = (true, false, false, false)
            (record.isAbsent, record.mayBeOld, record.former, record.intent) = (false, false, nil, nil)
        }
    }

    /// Notes which documents were looked for in a container with its mark, and are not here.
    package mutating func absent(_ paths: some Sequence<DocumentPath>) {
        for path in paths {
            guard let record = records[path], record.local == nil else { continue }
            // After a wipe, one look is not enough.
            update(path) { ($0.isAbsent, $0.mayBeOld) = (!record.mayBeOld, false) }
        }
    }

    /// Forgets what is here of a document, as if it had never been.
    mutating func forget(_ path: DocumentPath) {
        update(path) { ($0.local, $0.isHere, $0.intent, $0.sent) = (nil, false, nil, []) }
    }

    /// Notes that pieces have been removed from the cloud.
    mutating func forget(sent pieces: Set<ContentHash>) {
        for (path, record) in records where !record.sent.isDisjoint(with: pieces) { update(path) { $0.sent.subtract(pieces) } }
    }

    /// Notes that a version is about to get its place here: a crash between that and ``placed(_:_:_:)`` makes no edit of it.
    package mutating func expects(_ path: DocumentPath) {
        guard records[path]?.isAbsent == true else { return }
        update(path) { $0.isAbsent = false }
    }

    /// Returns the content with a hash that some version has, or nil.
    package func content(withHash hash: String) -> DocumentContent? {
        for record in records.values {
            if let content = record.local?.content, content.hash.description == hash { return content }
            for content in record.versions.lazy.compactMap(\.content) where content.hash.description == hash { return content }
            if let content = record.former, content.hash.description == hash { return content }
        }
        return nil
    }

    /// Whether a document whose content has this hash has vanished here: a placeholder that turns up elsewhere is that document, moved.
    func isMissing(contentWithHash hash: String, but path: DocumentPath) -> Bool {
        records.contains { $0.key != path && !$0.value.isHere && $0.value.local?.content.hash.description == hash }
    }

    /// Notes that an item was looked at and has not changed.
    package mutating func seen(_ path: DocumentPath, _ stamp: DocumentStamp) {
        update(path) { record in
            (record.isHere, record.isMissed) = (true, false)
            if case .item? = record.local?.form { record.local?.form = .item(stamp) }
        }
    }

    /// Notes which documents are missing that were here; see ``TransferBook/missed(_:peers:isWhole:)``.
    ///
    /// A document counts as removed if it was missing before too, nothing else of the container has vanished since, and the
    /// container's mark is still here.
    ///
    /// - Parameters:
    ///   - gone: the documents of which nothing is here any more.
    ///   - isWhole: whether the whole device was looked at.
    ///   - isMarked: whether this peer's mark is in a container.
    package mutating func missed(_ gone: [DocumentPath], isWhole: Bool, isMarked: (String) -> Bool) {
        let new = gone.filter { records[$0]?.isHere == true }
        for path in new { update(path) { $0.isHere = false } }
        // What nobody else has heard of comes and goes, as temporary files do.
        var going: Set<String> = []
        for path in new where records[path]?.versions.isEmpty == false { going.insert(path.container) }
        for (path, record) in records {
            let isGone = record.local != nil && !record.isHere
            if !isMarked(path.container) {
                // The container was wiped: it is as if the document had never been here, and its conflict copies neither.
                guard isGone || record.isAbsent else { continue }
                update(path) { ($0.local, $0.copies, $0.resolved, $0.isAbsent, $0.mayBeOld) = (nil, [:], [], false, true) }
            } else if isGone, !record.isMissed, isWhole, !going.contains(path.container) {
                update(path) { $0.isMissed = true }
            }
        }
    }

    /// Whether documents are missing of which another look decides what that means.
    package var awaitsLook: Bool { records.values.contains { $0.local != nil && !$0.isHere && !$0.isMissed } }

    /// Notes that a document has been removed here because it was removed elsewhere.
    package mutating func removed(_ path: DocumentPath) {
        update(path) { record in
            let content = record.local?.content
            let former = record.local?.form == .placeholder || content?.isPackage == true ? content : nil
            (record.local, record.isHere, record.isMissed, record.isWanted, record.isEvicted) = (nil, false, false, false, false)
            (record.intent, record.sent, record.copies, record.resolved) = (nil, [], [:], [])
            (record.isAbsent, record.mayBeOld, record.former) = (true, false, former)
        }
    }

    /// Notes that somebody wants a document's bytes, or does so no more.
    package mutating func wants(_ path: DocumentPath, _ isWanted: Bool) {
        guard records[path] != nil else { return }
        update(path) { $0.isWanted = isWanted }
    }

    /// Notes that a document has been evicted: its placeholder is here.
    package mutating func evicted(_ path: DocumentPath) {
        update(path) { record in
            record.local?.form = .placeholder
            (record.isHere, record.isMissed, record.isWanted) = (true, false, false)
            record.isEvicted = true
        }
    }

    /// Notes the conflict copy of a version.
    package mutating func copied(_ path: DocumentPath, _ name: String, _ version: DocumentVersion) {
        update(path) {
            $0.copies[name] = .init(version)
            $0.resolved.remove(name)
        }
    }

    /// Notes that a conflict copy is of no use any more.
    package mutating func droppedCopy(_ path: DocumentPath, _ name: String) {
        update(path) {
            $0.copies[name] = nil
            $0.resolved.remove(name)
        }
    }

    /// Notes which conflict copies are resolved or gone.
    package mutating func resolved(_ path: DocumentPath, _ names: Set<String>) { update(path) { $0.resolved = names } }

    // MARK: What the device does

    /// Notes that the upload of a version begins.
    package mutating func intends(_ path: DocumentPath, _ version: DocumentVersion) {
        // Pieces that were sent for another version are still there.
        update(path) { $0.intent = version }
    }

    /// Notes that the cloud has taken a piece.
    package mutating func sent(_ path: DocumentPath, _ piece: ContentHash) {
        // In place: a package can have very many.
        records[path]?.sent.insert(piece)
        changed.insert(path)
    }

    /// Notes that all pieces of a version are in the cloud, so that the next bulletin states it.
    package mutating func uploaded(_ path: DocumentPath, _ version: DocumentVersion) {
        let line = line(of: version, at: path)
        update(path) { ($0.intent, $0.sent, $0.untold, $0.line) = (nil, [], version, line) }
        take(path, version, own: version.device, now: nil)
    }

    /// Has the next bulletin state that a document was removed.
    package mutating func withdraws(_ path: DocumentPath, _ version: DocumentVersion) {
        let line = line(of: version, at: path)
        removed(path)
        update(path) { ($0.untold, $0.line) = (version, line) }
        take(path, version, own: version.device, now: nil)
    }

    /// The identifier under which a new version counts its own edit.
    private func line(of version: DocumentVersion, at path: DocumentPath) -> TransferDevice? {
        let known = records[path].map { $0.all.joined($0.local?.base ?? VersionVector()) } ?? VersionVector()
        return version.vector.counts.first { $0.value > known.counts[$0.key] ?? 0 }?.key
    }

    /// Takes another identifier for what is not stated yet, because another home states versions under the former one.
    package mutating func rename(_ device: TransferDevice) {
        for (path, record) in records where record.intent != nil || record.untold != nil {
            update(path) { record in
                record.intent = nil
                guard let version = record.untold, let line = record.line else { return }
                var renamed = version
                renamed.device = device
                renamed.vector = version.vector.without(lastOf: line).advanced(by: device)
                (record.untold, record.line) = (renamed, device)
                record.versions = Self.sorted(record.versions.filter { $0 != version } + [renamed])
                if let base = record.local?.base, base.contains(version.vector) {
                    // An edit of the other home with the same number is not contained.
                    let isLast = base.counts[line] == version.vector.counts[line]
                    record.local?.base = (isLast ? base.without(lastOf: line) : base).joined(renamed.vector)
                }
            }
        }
    }

    private static func sorted(_ versions: [DocumentVersion]) -> [DocumentVersion] {
        versions.sorted { ($0.device, $0.vector.total) < ($1.device, $1.vector.total) }
    }

    /// Whether a piece need not be sent for a document.
    package func hasPiece(_ piece: ContentHash, for path: DocumentPath) -> Bool {
        pieces[piece] != nil || records[path]?.sent.contains(piece) == true
    }

    // MARK: Bulletins

    /// The versions that the next bulletin states.
    package var untold: [DocumentPath: DocumentVersion] { records.compactMapValues(\.untold) }

    /// The versions that a device has stated and that no other one contains.
    func stated(by device: TransferDevice) -> [DocumentPath: [DocumentVersion]] {
        records.compactMapValues { record in
            let own = record.versions.filter { $0.device == device }
            return own.isEmpty ? nil : own
        }
    }

    /// Notes that a bulletin has stated a version.
    package mutating func told(_ path: DocumentPath, _ version: DocumentVersion, now: Date) {
        guard let record = records[path], record.untold == version else { return }
        for piece in record.dooming where pieces[piece] == nil { doomed[piece] = now }
        update(path) { ($0.untold, $0.line, $0.dooming) = (nil, nil, []) }
    }

    /// Takes in a version.
    ///
    /// - Parameters:
    ///   - path: the document.
    ///   - version: a version that a bulletin states.
    ///   - own: this device, which dooms the pieces that its own versions make superfluous.
    ///   - now: the time; nil for a version that is not stated yet, whose pieces are doomed when it is.
    package mutating func take(_ path: DocumentPath, _ version: DocumentVersion, own: TransferDevice, now: Date?) {
        let before = records[path]?.versions ?? []
        // Two devices with one identifier can state two contents with the same edits; both stay.
        func isContained(_ first: DocumentVersion, in second: DocumentVersion) -> Bool {
            guard second.vector.contains(first.vector) else { return false }
            guard second.vector == first.vector else { return true }
            switch (first.content, second.content) {
            case (nil, nil): return true
            case (let one?, let other?): return one.isSame(as: other)
            default: return false
            }
        }
        guard !before.contains(where: { isContained(version, in: $0) }) else { return }
        let superseded = before.filter { isContained($0, in: version) }
        let versions = before.filter { !isContained($0, in: version) } + [version]
        count(version, by: 1)
        for version in superseded { count(version, by: -1) }
        let superfluous = version.device == own ? Set(superseded.lazy.flatMap { $0.content?.chunks ?? [] }.map(\.hash)) : []
        if let now { for piece in superfluous where pieces[piece] == nil { doomed[piece] = now } }
        update(path) { record in
            record.versions = Self.sorted(versions)
            if now == nil { record.dooming.formUnion(superfluous) }
            // What has vanished here does not contain what others do with the same bytes.
            if let local = record.local, record.isHere || version.device == own {
                let same = versions.filter { $0.content?.isSame(as: local.content) == true }
                if !same.isEmpty {
                    // Two devices have written the same bytes, or this one has stated what is here.
                    record.local?.base = same.reduce(local.base) { $0.joined($1.vector) }
                    // A choice of a version that lost is an edit until it is stated.
                    if !local.isEdited || !local.isChosen || same.contains(where: { $0.vector.contains(local.base) && $0 == version }) {
                        record.local?.isEdited = false
                        record.local?.isChosen = false
                        (record.intent, record.sent) = (nil, [])
                    }
                } else if local.isEdited, local.base.isEmpty, local.form != .placeholder, record.isOld(local.content) {
                    // The index was lost, and the device was looked at before the bulletins were.
                    record.local?.isEdited = false
                }
            }
        }
    }

    private mutating func count(_ version: DocumentVersion, by difference: Int) {
        for piece in version.content?.chunks ?? [] {
            let count = (pieces[piece.hash] ?? 0) + difference
            pieces[piece.hash] = count > 0 ? count : nil
            if count > 0 { doomed[piece.hash] = nil }
        }
    }

    /// Notes that a piece that no version names has been removed from the cloud, or that one does again.
    package mutating func undoom(_ piece: ContentHash) { doomed[piece] = nil }

    /// The pieces among some that a version, or an upload that has begun, names.
    package func named(_ hashes: Set<ContentHash>) -> Set<ContentHash> {
        var named = hashes.filter { pieces[$0] != nil }
        for record in records.values {
            for version in [record.intent, record.untold].compactMap(\.self) {
                named.formUnion(version.content?.chunks.lazy.map(\.hash).filter(hashes.contains) ?? [])
            }
            if record.isMovedPlaceholder { named.formUnion(record.local?.content.chunks.lazy.map(\.hash).filter(hashes.contains) ?? []) }
        }
        return named
    }

    /// Forgets what the cloud held.
    mutating func republish() {
        for (path, record) in records {
            update(path) {
                ($0.versions, $0.intent, $0.untold, $0.sent, $0.line, $0.dooming) = ([], nil, nil, [], nil, [])
                if record.isItemHere { $0.local?.isEdited = true } else { ($0.local, $0.isHere, $0.isMissed) = (nil, false, false) }
            }
        }
        (pieces, doomed) = ([:], [:])
    }

    // MARK: What is to be done

    /// Returns what is done next for a document, in this order.
    ///
    /// - Parameters:
    ///   - path: the document.
    ///   - device: this device.
    ///   - rules: which documents are kept here.
    /// - Returns: the steps; none while a version waits to be stated.
    package func steps(_ path: DocumentPath, of device: TransferDevice, _ rules: DownloadRules) -> [DocumentStep] {
        guard let record = records[path], record.untold == nil else { return [] }
        func version(_ content: DocumentContent?, _ base: VersionVector) -> DocumentVersion {
            DocumentVersion(vector: record.next(base, by: device), content: content, device: device, replaced: record.replaced(base, by: content))
        }
        if let local = record.local, !record.isHere {
            // One that nobody else has heard of leaves nothing behind.
            guard record.isMissed else { return [] }
            return record.versions.isEmpty ? [.remove] : [.withdraw(version(nil, local.base))]
        }
        guard let local = record.local else {
            guard let shown = record.shown else { return record.copies.map { .dropCopy($0, $1) } }
            return isFetched(path, record, shown, rules) ? [.fetch(shown)] : [.hold(shown)]
        }
        // The bytes of a placeholder that somebody has moved here are in the cloud under its former name.
        if local.isEdited { return [.send(record.intent ?? version(local.content, record.withoutTwins(local.base)))] }
        guard let shown = record.shown, let content = shown.content else {
            // A version that vanished, as by a remote that was replaced, removes nothing.
            return record.versions.isEmpty ? [] : record.copies.map { .dropCopy($0, $1) } + [.remove]
        }
        if case .placeholder = local.form {
            if isFetched(path, record, shown, rules) { return [.fetch(shown)] }
            return local.content == content ? [] : [.hold(shown)]
        }
        if !local.content.isSame(as: content) { return [.fetch(shown)] }
        return conflictSteps(record, local, version)
    }

    private func conflictSteps(
        _ record: DocumentRecord, _ local: DocumentRecord.Local, _ version: (DocumentContent?, VersionVector) -> DocumentVersion
    ) -> [DocumentStep] {
        let lost = record.lost
        let old = record.copies.filter { copy in !lost.contains { $0.vector == copy.value.vector } }.sorted { $0.key < $1.key }
        let drops = old.map { DocumentStep.dropCopy($0.key, $0.value) }
        guard !lost.isEmpty else { return drops }
        let missing = lost.filter { version in !record.copies.values.contains { $0.vector == version.vector } }
        if !missing.isEmpty { return drops + missing.map { .fetchCopy($0) } }
        // Somebody has looked at all of them: what is here is the version that contains all.
        let names = record.copies.filter { copy in lost.contains { $0.vector == copy.value.vector } }.keys
        return names.allSatisfy(record.resolved.contains) ? drops + [.send(version(local.content, record.all))] : drops
    }

    private func isFetched(_ path: DocumentPath, _ record: DocumentRecord, _ shown: DocumentVersion, _ rules: DownloadRules) -> Bool {
        record.isWanted || rules.fetches(path, size: shown.content?.size ?? 0, isEvicted: record.isEvicted)
    }

    // MARK: The index

    /// Returns the records that have changed since the last call.
    mutating func takeChanges() -> [DocumentPath: DocumentRecord?] {
        var taken: [DocumentPath: DocumentRecord?] = [:]
        for path in changed { taken.updateValue(records[path], forKey: path) }
        changed = []
        return taken
    }

    /// Takes changes back that the index could not keep.
    mutating func putBack(_ paths: some Sequence<DocumentPath>) { changed.formUnion(paths) }

    private mutating func update(_ path: DocumentPath, _ body: (inout DocumentRecord) -> Void) {
        var record = records[path] ?? DocumentRecord()
        let before = record
        body(&record)
        guard record != before else { return }
        records[path] = record.isEmpty ? nil : record
        changed.insert(path)
        generation += 1
    }
}
