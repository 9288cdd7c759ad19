/// Turns the changes of a tree that several watchers share into those of one of them, as if it watched its part alone.
///
/// It is pure. For watchers of the whole tree it passes on the loss and return of the tree's root. A watcher of a
/// directory in the tree is told of that directory's end and return as of its root's. The entries in that directory are
/// then reported one by one.
struct ViewFilter {
    private let scope: ViewScope
    private let root: [UInt8]
    private let attributes: Bool
    private let closes: Bool
    /// Why the watcher's root is missing though the tree's may be there; nil while it is there.
    private(set) var loss: TreeChange.RootLoss?
    /// Whether the watcher's root was there when the tree was lost.
    private var awaitsTree = false

    /// A filter for a watcher whose root is there.
    ///
    /// - Parameters:
    ///   - scope: What the watcher sees.
    ///   - root: The watcher's root, absolute.
    ///   - attributes: Whether it asks for changes of attributes.
    ///   - closes: Whether it combines changes, which needs to know when files are closed.
    init(scope: ViewScope, root: [UInt8], attributes: Bool, closes: Bool) {
        self.scope = scope
        self.root = root
        self.attributes = attributes
        self.closes = closes
    }

    /// The watcher's part of a batch; nil where there is none.
    mutating func take(_ batch: TreeChangeBatch) -> TreeChangeBatch? {
        var records: ContiguousArray<TreeChangeRecord> = []
        records.reserveCapacity(batch.records.count)
        for record in batch.records { if let record = translate(record, in: batch) { records.append(record) } }
        return records.isEmpty ? nil : TreeChangeBatch(root: root, bytes: batch.bytes, records: records)
    }

    private mutating func translate(_ record: TreeChangeRecord, in batch: TreeChangeBatch) -> TreeChangeRecord? {
        switch record.code {
        case .ready, .overflow, .rescanned: return loss == nil ? record : nil
        case .rootLost:
            guard !scope.top.isEmpty else { return record }
            if loss != nil { return nil }
            (loss, awaitsTree) = (record.loss, true)
            return record
        case .rootBack:
            guard !scope.top.isEmpty else { return record }
            guard awaitsTree else { return nil }
            (loss, awaitsTree) = (nil, false)
            return record
        case .attributes where !attributes, .closed where !closes: return nil
        case .created, .arrived, .modified, .removed, .moved, .attributes, .closed, .enters, .leaves: break
        }
        if scope.isWhole { return record.code == .enters || record.code == .leaves ? nil : record }
        let path = batch.relativePath(of: record), source = batch.relativeSource(of: record)
        if path.isEmpty { return scope.top.isEmpty ? record : nil }
        if !scope.top.isEmpty, let told = tellRoot(record, path, source) { return told }
        let isSeen = scope.contains(path, isDirectory: record.isDirectory)
        let wasSeen = source.map { scope.contains($0, isDirectory: record.isDirectory) }
        switch (record.code, isSeen, wasSeen) {
        case (.enters, true, false?): return shown(record, as: .arrived)
        case (.leaves, true, false?): return shown(record, as: .removed)
        case (.enters, _, _), (.leaves, _, _): return nil
        case (.modified, true, false?): return shown(record, as: .modified)
        case (_, true, false?): return shown(record, as: .arrived)
        case (_, true, _): return rebased(record)
        case (_, false, true?): return shown(Self.turned(record), as: .removed)
        case (_, false, _): return nil
        }
    }

    /// Returns the meaning of a change for the watcher's root; nil if it has none.
    private mutating func tellRoot(_ record: TreeChangeRecord, _ path: [UInt8], _ source: [UInt8]?) -> TreeChangeRecord? {
        guard record.isDirectory else { return nil }
        var told = TreeChangeRecord(tick: record.tick, time: record.time, code: .rootLost)
        told.isDirectory = true
        let isAtTop = path == scope.top
        switch record.code {
        case .removed where isAtTop, .leaves where isAtTop, .moved where source == scope.top:
            guard loss == nil else { return nil }
            told.loss = record.code == .removed ? .deleted : .moved
            loss = told.loss
        case .created where isAtTop, .arrived where isAtTop, .enters where isAtTop, .moved where isAtTop:
            guard loss != nil else { return nil }
            (loss, awaitsTree) = (nil, false)
            told.code = .rootBack
        case .attributes where isAtTop && loss == nil: told.code = .attributes
        default: return nil
        }
        return told
    }

    /// The entries of a batch that are seen.
    func select(_ batch: TreeChangeBatch) -> TreeChangeBatch {
        let records = batch.records.filter { scope.contains(batch.relativePath(of: $0), isDirectory: $0.isDirectory) }.map(rebased)
        return TreeChangeBatch(root: root, bytes: batch.bytes, records: ContiguousArray(records))
    }

    private func shown(_ record: TreeChangeRecord, as code: TreeChangeRecord.Code) -> TreeChangeRecord {
        var record = rebased(record)
        record.code = code
        (record.hasSource, record.isExchange) = (false, false)
        return record
    }

    /// A record of the old path.
    private static func turned(_ record: TreeChangeRecord) -> TreeChangeRecord {
        var record = record
        (record.directoryOffset, record.directoryLength, record.nameLength) = (record.sourceOffset, record.sourceLength, 0)
        return record
    }

    /// A record with paths from the watcher's root.
    private func rebased(_ record: TreeChangeRecord) -> TreeChangeRecord {
        if scope.top.isEmpty { return record }
        var record = record
        let skipped = UInt32(scope.top.count)
        func skip(_ offset: inout UInt32, _ length: inout UInt32) {
            let step = min(length, skipped + 1)
            offset += step
            length -= step
        }
        skip(&record.directoryOffset, &record.directoryLength)
        if record.hasSource { skip(&record.sourceOffset, &record.sourceLength) }
        return record
    }
}
