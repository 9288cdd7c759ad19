/// The last delivered batches, up to a limit in bytes.
struct ChangeHistory {
    private var batches = Queue<TreeChangeBatch>()
    private var cost = 0
    private let limit: Int
    /// The tick of the last forgotten change.
    private var forgotten: UInt64 = 0

    init(limit: Int) { self.limit = limit }

    mutating func append(_ batch: TreeChangeBatch) {
        batches.append(batch)
        cost += batch.cost
        while cost > limit, let oldest = batches.popFirst() {
            cost -= oldest.cost
            forgotten = max(forgotten, oldest.records.last?.tick ?? 0)
        }
    }

    /// Returns the changes with greater ticks; nil if some are forgotten or the tick never existed.
    func changes(since tick: UInt64, last: UInt64) -> [TreeChangeBatch]? {
        guard tick >= forgotten, tick <= last else { return nil }
        var result: [TreeChangeBatch] = []
        for batch in batches.elements {
            guard let end = batch.records.last, end.tick > tick else { continue }
            if let first = batch.records.first, first.tick > tick {
                result.append(batch)
            } else {
                result.append(TreeChangeBatch(root: batch.root, bytes: batch.bytes, records: batch.records.filter { $0.tick > tick }))
            }
        }
        return result
    }
}
