import Foundation
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// A container like that of many devices: complete logs, receipts and marks, and items.
///
/// Each peer has read all logs of the others, except every tenth peer, which lacks some logs of each.
struct ContainerScene {
    private let directory: FilePath
    /// A device home without a signed-in account.
    let home: FilePath
    let container: FilePath
    /// The number of directories of its items, which are items too.
    let directories: Int

    init(peers: Int, logsPerPeer: Int, items: Int) throws {
        directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-scene-\(UUID().uuidString)")
        home = directory.appending("home")
        container = directory.appending("root/bench/org.example.bench")
        directories = items == 0 ? 0 : 1 + (items + 99) / 100
        let layout = ContentLayout(container: container, content: "Items")
        for made in [home, container.appending(".ubiquity"), layout.epochs] {
            try FileManager.default.createDirectory(atPath: made.string, withIntermediateDirectories: true)
        }
        var authors: [LogForge] = []
        for number in 0..<peers {
            var forge = try LogForge(layout)
            try forge.add(number * logsPerPeer..<(number + 1) * logsPerPeer, keys: .random, rowsPerLog: 1)
            authors.append(forge)
        }
        for (index, author) in authors.enumerated() {
            let read = authors.enumerated().map { other, forge in
                let isLate = index.isMultiple(of: 10) && other != index
                return (forge.peer, isLate ? forge.positions[forge.positions.count - 3] : forge.positions.last!)
            }
            try Self.write(
                Receipt(peer: author.peer, epoch: 1, knowledge: Knowledge(Dictionary(uniqueKeysWithValues: read)), migrations: ["v1"], time: Date())
                    .encoded(),
                to: layout.receipts(of: author.peer, epoch: 1).appending("1"))
            try Self.write(
                AttachmentMark(peer: author.peer, home: DeviceHome(container)),
                to: container.appending(".ubiquity").appending(author.peer.description))
            try Self.write([], to: layout.epochMark(1, by: author.peer))
        }
        for number in 0..<items {
            try Self.write(Array("Item \(number)\n".utf8), to: container.appending("Documents/\(number / 100)/item \(number).txt"))
        }
    }

    func remove() { try? FileManager.default.removeItem(atPath: directory.string) }

    private static func write(_ value: some Encodable, to file: FilePath) throws { try write([UInt8](JSONEncoder().encode(value)), to: file) }

    private static func write(_ bytes: [UInt8], to file: FilePath) throws {
        try FileManager.default.createDirectory(atPath: file.removingLastComponent().string, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(filePath: file.string))
    }
}
