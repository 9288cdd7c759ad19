internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// States in receipts what a store knows, and the files that it waits for.
struct ReceiptWriter {
    let context: ExchangeContext
    let peer: PeerIdentifier
    let epoch: Int64

    init(_ context: ExchangeContext, _ state: StoreState) {
        self.context = context
        (peer, epoch) = (state.peer, state.epoch)
    }

    private var file: StoreFile { context.file }
    private var files: any FileLayer { context.files }
    private var layout: ContentLayout { context.layout }

    /// Publishes a receipt if it differs from the last one.
    func publish(_ peers: inout PeerDirectory) throws {
        let (state, knowledge, quarantined, fact) = try file.pool.read { db in
            let state = try StoreState.read(db)
            return (state, try StoreKnowledge.all(state, db), try QuarantinedLog.list(db), try Retirements.all(db)[state.peer])
        }
        let awaits = peers.awaits(besides: quarantined)
        // A retired peer returns with a greater number.
        let isRetired = fact?.isInForce(state.receipt) == true
        guard peers.needsReceipt(knowledge, awaits: awaits, isRetired: isRetired) else { return }
        let receipts = layout.receipts(of: peer, epoch: epoch)
        let there = try files.names(in: receipts).compactMap(Receipt.number(ofFile:)).max()
        if peers.lastReceipt == nil, !isRetired, let there, let bytes = try? files.read(receipts.appending(String(there)), limit: 16 << 20),
            let receipt = Receipt(decoding: bytes), receipt.stated == knowledge, receipt.migrations == file.migrations, receipt.awaits ?? [] == awaits
        {
            peers.told(knowledge, awaits: awaits)
            return
        }
        try files.makeDirectory(receipts)
        let receipt = Receipt(peer: peer, epoch: epoch, knowledge: knowledge, awaits: awaits, migrations: file.migrations, time: context.now())
        var number = max(state.receipt, there ?? 0, fact?.receipt ?? 0) + 1
        while try !publish(receipt, number) { number += 1 }
        context.log.exchange(
            "published receipt \(number): \(counted(knowledge.entries.count, "peer")) known, \(counted(awaits.count, "file")) awaited")
        peers.told(knowledge, awaits: awaits)
    }

    /// Publishes a receipt; returns false if a copy of this store has just used the number.
    private func publish(_ receipt: Receipt, _ number: Int64) throws -> Bool {
        try file.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET receipt = ?", arguments: [number]) }
        Waypoint.receiptNumbered.pass()
        do {
            try context.publisher.publish(receipt, number: number, of: peer, epoch: epoch)
            return true
        } catch Errno.fileExists {
            return false
        }
    }
}
