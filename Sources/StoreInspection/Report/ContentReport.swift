package import Foundation
internal import StoreExchange
package import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// The headers of the logs and baselines of a store's content, its receipts and its marks, without any record.
package struct ContentReport: Sendable, Encodable {
    /// A mark of an epoch.
    package struct Mark: Sendable, Encodable {
        package var file: String
        /// The mark; nil if it cannot be read.
        package var mark: EpochMark?
    }

    /// The files of a peer in one epoch.
    package struct Part: Sendable, Encodable {
        package var peer: String
        package var epoch: Int64
        package var logs: [Log] = []
        package var receipts: [ReceiptFile] = []
        package var baselines: [Baseline] = []
        /// The number of large values; below, their bytes.
        package var values = 0
        package var valueBytes: Int64 = 0
    }

    /// A log's header.
    package struct Log: Sendable, Encodable {
        package var file: String
        package var bytes: Int64
        /// The reason why the log cannot be used; nil if its bytes are valid.
        package var fault: String?
        package var header: Header?
    }

    /// The header of a log, which precedes its changes.
    package struct Header: Sendable, Encodable {
        package var bodyVersion: UInt64
        package var peer: String
        package var contentName: String
        package var epoch: Int64
        package var sequence: Int64
        package var predecessor: String?
        package var news: [Receipt.Entry]
        package var schema: String
        package var created: Date
        package var saves: Int64
        package var changes: Int64
    }

    /// A receipt.
    package struct ReceiptFile: Sendable, Encodable {
        package var file: String
        /// The receipt; nil if it cannot be read.
        package var receipt: Receipt?
    }

    /// A baseline's header.
    package struct Baseline: Sendable, Encodable {
        package var file: String
        package var bytes: Int64
        package var fault: String?
        package var schema: String?
        package var created: Date?
        package var logs: Int64?
        package var knowledge: [Receipt.Entry]?
        package var holes: [Receipt.Entry]?
    }

    package var contentName: String
    package var epochs: [Mark] = []
    package var parts: [Part] = []
    /// The files and directories that could not be read, with the reasons.
    package var faults: [String] = []
}

extension ContentReport {
    /// Returns a report for each content of a container.
    ///
    /// - Parameter container: its directory. The call blocks while it reads each log once.
    /// - Returns: the reports, sorted by name; none if there are none, or if they cannot be listed, which the listing
    ///   reports.
    package static func all(in container: FilePath) -> [ContentReport] {
        let files = LinuxFileLayer()
        return UbiquityContainer.storeContents(of: container, files).map { name in
            ContentReport(of: ContentLayout(container: container, content: name), name, files)
        }
    }

    private init(of layout: ContentLayout, _ name: String, _ files: LinuxFileLayer) {
        contentName = name
        do {
            epochs = try files.namesIfThere(in: layout.epochs).filter { ContentLayout.epoch(ofMark: $0) != nil }.sorted().map { name in
                Mark(file: name, mark: (try? files.read(layout.epochs.appending(name), limit: 16 << 20)).flatMap { EpochMark(decoding: $0) })
            }
            for peer in try files.names(in: layout.directory).compactMap({ PeerIdentifier($0) }).sorted() { add(peer, layout, name, files) }
        } catch {
            faults.append("\(error)")
        }
    }

    private mutating func add(_ peer: PeerIdentifier, _ layout: ContentLayout, _ name: String, _ files: LinuxFileLayer) {
        let directories = PeerFolders(layout: layout, files: files)
        do {
            for epoch in try directories.names(in: layout.peer(peer)).compactMap(ContentLayout.epoch(ofDirectory:)).sorted() {
                parts.append(part(of: peer, epoch, name, directories))
            }
        } catch {
            faults.append("\(error)")
        }
    }

    private mutating func part(of peer: PeerIdentifier, _ epoch: Int64, _ name: String, _ directories: PeerFolders) -> Part {
        let (layout, files) = (directories.layout, directories.files)
        func names(in directory: FilePath) -> [String] {
            do {
                return try directories.names(in: directory)
            } catch {
                if !faults.contains("\(error)") { faults.append("\(error)") }
                return []
            }
        }
        var part = Part(peer: peer.description, epoch: epoch)
        let directory = layout.logs(of: peer, epoch: epoch)
        part.logs = names(in: directory).compactMap { LogFileName($0) }.sorted().map { Self.log(directory, $0, files) }
        let receipts = layout.receipts(of: peer, epoch: epoch)
        part.receipts = names(in: receipts).compactMap(Receipt.number(ofFile:)).sorted().map { number in
            let bytes = try? files.read(receipts.appending(String(number)), limit: 16 << 20)
            return ReceiptFile(file: String(number), receipt: bytes.flatMap { Receipt(decoding: $0) })
        }
        let reader = BaselineReader(layout: layout, contentName: name, epoch: epoch)
        let baselines = layout.baselines(of: peer, epoch: epoch)
        part.baselines = names(in: baselines).compactMap { BaselineName($0) }.sorted().map { name in
            Self.baseline(BaselineID(peer: peer, name: name), reader, bytes: (try? files.size(of: baselines.appending(name.description))) ?? 0)
        }
        for value in names(in: layout.values(of: peer, epoch: epoch)) where ContentHash(hexadecimal: value) != nil {
            part.values += 1
            part.valueBytes += (try? files.size(of: layout.values(of: peer, epoch: epoch).appending(value))) ?? 0
        }
        return part
    }

    private static func log(_ directory: FilePath, _ name: LogFileName, _ files: any FileLayer) -> Log {
        var log = Log(file: name.description, bytes: 0)
        do {
            let bytes = try files.read(directory.appending(name.description), limit: LogFile.limit)
            log.bytes = Int64(bytes.count)
            log.header = (try? LogFile(decoding: bytes)).map { Header($0.header) }
            _ = try LogFile(decoding: bytes, named: name)
        } catch {
            log.fault = "\(error)"
        }
        return log
    }

    private static func baseline(_ id: BaselineID, _ reader: BaselineReader, bytes: Int64) -> Baseline {
        var baseline = Baseline(file: id.name.description, bytes: bytes)
        do {
            let header = try reader.header(of: id, clock: .latest)
            (baseline.schema, baseline.created, baseline.logs) = (header.schema, header.created, header.logs)
            (baseline.knowledge, baseline.holes) = (header.knowledge.listed, header.knowledge.listedHoles)
        } catch {
            baseline.fault = "\(error)"
        }
        return baseline
    }
}

extension ContentReport.Header {
    fileprivate init(_ header: LogHeader) {
        self.init(
            bodyVersion: header.bodyVersion, peer: header.peer.description, contentName: header.contentName, epoch: header.epoch,
            sequence: header.sequence, predecessor: header.predecessor?.description, news: header.news.listed, schema: header.schema,
            created: header.created, saves: header.saves, changes: header.changes)
    }
}
