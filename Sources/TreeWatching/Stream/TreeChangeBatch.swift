import SystemPackage

/// Changes that were delivered together, in order.
///
/// All readers share one buffer: it stores a directory's path once for all changes in it, and a `FilePath` is made only
/// on demand.
public struct TreeChangeBatch: Sendable, RandomAccessCollection {
    let root: [UInt8]
    let bytes: [UInt8]
    let records: ContiguousArray<TreeChangeRecord>

    /// The position of the first change.
    public var startIndex: Int { records.startIndex }
    /// The position after the last change.
    public var endIndex: Int { records.endIndex }
    /// Returns the change at a position.
    /// - Parameter position: A valid position.
    public subscript(position: Int) -> TreeChange { TreeChange(batch: self, record: records[position]) }

    /// The bytes that the batch occupies.
    var cost: Int { bytes.count + records.count * MemoryLayout<TreeChangeRecord>.stride + 96 }

    func path(of record: TreeChangeRecord) -> FilePath { Self.filePath(pathBytes(of: record)) }

    func source(of record: TreeChangeRecord) -> FilePath? { sourceBytes(of: record).map(Self.filePath) }

    func pathBytes(of record: TreeChangeRecord) -> [UInt8] {
        var path: [UInt8] = []
        path.reserveCapacity(root.count + Int(record.directoryLength) + Int(record.nameLength) + 3)
        path.append(contentsOf: root)
        appendComponent(record.directoryOffset, record.directoryLength, to: &path)
        appendComponent(record.nameOffset, UInt32(record.nameLength), to: &path)
        return path
    }

    func sourceBytes(of record: TreeChangeRecord) -> [UInt8]? {
        guard record.hasSource else { return nil }
        var path = root
        appendComponent(record.sourceOffset, record.sourceLength, to: &path)
        return path
    }

    /// Returns the path below the root; empty for the root itself.
    func relativePath(of record: TreeChangeRecord) -> [UInt8] {
        var path = Array(bytes[Int(record.directoryOffset)..<Int(record.directoryOffset + record.directoryLength)])
        appendComponent(record.nameOffset, UInt32(record.nameLength), to: &path)
        return path
    }

    func relativeSource(of record: TreeChangeRecord) -> [UInt8]? {
        record.hasSource ? Array(bytes[Int(record.sourceOffset)..<Int(record.sourceOffset + record.sourceLength)]) : nil
    }

    private func appendComponent(_ offset: UInt32, _ length: UInt32, to path: inout [UInt8]) {
        guard length > 0 else { return }
        if !path.isEmpty, path.last != 0x2F { path.append(0x2F) }
        path.append(contentsOf: bytes[Int(offset)..<Int(offset + length)])
    }

    static func filePath(_ bytes: [UInt8]) -> FilePath {
        let terminated = bytes + [0]
        return terminated.withUnsafeBytes { FilePath(platformString: $0.assumingMemoryBound(to: CChar.self).baseAddress!) }
    }
}

/// Collects changes until they are delivered.
struct TreeChangeBuffer {
    let root: [UInt8]
    private(set) var records: ContiguousArray<TreeChangeRecord> = []
    private var bytes: [UInt8] = []
    /// The position of the last directory path; forgotten when a directory changes its path.
    private var cached: (directory: TreeIndex.Node, offset: UInt32, length: UInt32)?

    init(root: [UInt8]) { self.root = root }

    var isEmpty: Bool { records.isEmpty }
    var count: Int { records.count }

    /// Adds a change of an entry in the index.
    mutating func append(
        _ code: TreeChangeRecord.Code, _ node: TreeIndex.Node, in index: borrowing TreeIndex, tick: UInt64, time: Int64, source: [UInt8]? = nil
    ) {
        var record = TreeChangeRecord(tick: tick, time: time, code: code)
        record.isDirectory = index.isDirectory(node)
        if let parent = index.parent(of: node) {
            if let cached, cached.directory == parent {
                (record.directoryOffset, record.directoryLength) = (cached.offset, cached.length)
            } else {
                record.directoryOffset = UInt32(bytes.count)
                index.appendPath(of: parent, to: &bytes)
                record.directoryLength = UInt32(bytes.count) - record.directoryOffset
                cached = (parent, record.directoryOffset, record.directoryLength)
            }
            record.nameOffset = UInt32(bytes.count)
            index.withName(of: node) { bytes.append(contentsOf: $0) }
            record.nameLength = UInt8(bytes.count - Int(record.nameOffset))
        }
        if let source { setSource(source, of: &record) }
        records.append(record)
    }

    /// Marks the last change as half of an exchange.
    mutating func markExchange() {
        if records.isEmpty { return }
        records[records.count - 1].isExchange = true
    }

    /// Adds a change of the whole tree.
    mutating func append(_ code: TreeChangeRecord.Code, tick: UInt64, time: Int64, loss: TreeChange.RootLoss = .deleted) {
        var record = TreeChangeRecord(tick: tick, time: time, code: code)
        record.isDirectory = true
        record.loss = loss
        records.append(record)
    }

    /// Adds a change of a path below the root.
    mutating func append(_ record: TreeChangeRecord, path: [UInt8], source: [UInt8]?) {
        var record = record
        record.directoryOffset = UInt32(bytes.count)
        record.directoryLength = UInt32(path.count)
        record.nameOffset = 0
        record.nameLength = 0
        bytes.append(contentsOf: path)
        record.hasSource = false
        if let source { setSource(source, of: &record) }
        records.append(record)
    }

    private mutating func setSource(_ source: [UInt8], of record: inout TreeChangeRecord) {
        record.hasSource = true
        record.sourceOffset = UInt32(bytes.count)
        record.sourceLength = UInt32(source.count)
        bytes.append(contentsOf: source)
    }

    /// Returns the absolute path of a path below the root.
    func filePath(of path: [UInt8]) -> FilePath {
        TreeChangeBatch.filePath(path.isEmpty ? root : root + (root.last == 0x2F ? [] : [0x2F]) + path)
    }

    /// Forgets the stored directory paths, because directories have other paths from here on.
    mutating func forgetPaths() { cached = nil }

    /// Returns and removes the collected changes.
    mutating func take() -> TreeChangeBatch {
        let batch = TreeChangeBatch(root: root, bytes: bytes, records: records)
        records = []
        bytes = []
        cached = nil
        return batch
    }
}
