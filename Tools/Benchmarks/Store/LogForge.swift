import Foundation
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Writes logs like those of another device's peer, so that an import can be measured without the time of the saves.
struct LogForge {
    let peer = PeerIdentifier(account: "bench", uuid: UUID())
    private let contentName: String
    private let directory: FilePath
    private var sequence: Int64 = 0
    private var predecessor: ContentHash?
    /// The logs, in order.
    private(set) var positions: [Knowledge.Position] = []
    /// The size of all logs in bytes.
    private(set) var bytes = 0

    /// 2026-11-21.
    private static let start: Int64 = 1_795_000_000_000

    init(_ layout: ContentLayout, contentName: String = "Items") throws {
        self.contentName = contentName
        directory = layout.logs(of: peer, epoch: 1)
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
    }

    /// Writes a log that inserts rows.
    mutating func add(_ items: [Item]) throws {
        var rows = WireWriter(reserving: items.count * 200)
        for item in items { item.write(to: &rows) }
        var body = LogBodyBuilder()
        body.add(Item.logTable, count: items.count, rows: rows)
        sequence += 1
        let header = LogHeader(
            peer: peer, contentName: contentName, epoch: 1, sequence: sequence, predecessor: predecessor, news: Knowledge(), schema: "v1",
            created: Date(timeIntervalSince1970: 1_795_000_000), saves: 1, changes: Int64(items.count))
        let log = LogFile.encode(header, body: body.encoded(time: HybridTime(milliseconds: Self.start + sequence)))
        let hash = ContentHash(of: log)
        predecessor = hash
        positions.append(.init(sequence: sequence, hash: hash))
        bytes += log.count
        // The files are not synced, unlike with Foundation's writing, because the benchmark measures the import and not
        // the disk.
        let file = try FileDescriptor.open(
            directory.appending(LogFileName(sequence: sequence, hash: hash).description), .writeOnly, options: [.create, .exclusiveCreate],
            permissions: [.ownerReadWrite, .groupRead, .otherRead])
        try file.closeAfter { _ = try file.writeAll(log) }
    }

    /// Writes logs that insert rows by their numbers.
    mutating func add(_ range: Range<Int>, keys: Item.Keys, rowsPerLog: Int) throws {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: rowsPerLog) {
            try add((start..<min(start + rowsPerLog, range.upperBound)).map { Item($0, key: keys.key($0)) })
        }
    }
}
