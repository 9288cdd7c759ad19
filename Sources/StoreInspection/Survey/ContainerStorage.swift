package import SystemPackage
internal import UbiquityContainers

/// The space that a container takes, by kind, and the space that is left where it lies.
package struct ContainerStorage: Sendable, Codable, Equatable {
    /// The items of the user.
    package var documents = ContainerSurvey.Amount()
    /// The contents of stores.
    package var stores = ContainerSurvey.Storage()
    /// The bytes that can still be written there, within the user's quota; nil if unknown.
    package var free: Int64?
    /// The size in bytes of the file system; nil if unknown.
    package var capacity: Int64?

    /// The bytes of all files.
    package var bytes: Int64 { kinds.reduce(0) { $0 + $1.amount.bytes } }

    /// Each kind with its amount, in a stable order.
    package var kinds: [(name: String, amount: ContainerSurvey.Amount)] {
        [
            ("documents", documents), ("logs", stores.logs), ("large values", stores.values), ("baselines", stores.baselines),
            ("receipts", stores.receipts), ("marks", stores.marks), ("being written", stores.temporary), ("other", stores.other),
        ]
    }

    package init() {}

    /// Measures a container without following links.
    ///
    /// - Parameters:
    ///   - container: the container's directory. Blocks while it lists everything.
    ///   - check: called before each directory of items; an error that it throws ends the walk.
    package init(of container: FilePath, _ check: () throws -> Void = {}) rethrows {
        let items = try ItemSurvey(of: container, check)
        documents = .init(files: items.files, bytes: items.bytes)
        for store in (try? ContainerSurvey(of: container).stores) ?? [] { stores += store.storage }
        guard let facts = FileSystemFacts(at: container) else { return }
        (free, capacity) = (Int64(clamping: facts.available), Int64(clamping: facts.size))
    }

    /// Whether nothing more can be written there.
    package var isFull: Bool { free.map { $0 < Self.least } ?? false }

    /// With less free space than this, a place counts as full; the logs of a few imports need it.
    package static let least: Int64 = 64 << 20

    /// Returns whether the space that is used, or the space that is left, has passed a mark.
    ///
    /// - Parameters:
    ///   - mark: the greatest number of bytes that they should take; nil for no mark.
    ///   - used: the bytes that all containers of the account take.
    /// - Returns: whether it has.
    package func isOver(_ mark: Int64?, used: Int64) -> Bool { isFull || mark.map { used >= $0 } ?? false }
}

extension ContainerSurvey.Storage {
    /// Adds another content's space.
    package static func += (sum: inout Self, other: Self) {
        for kind in [\Self.logs, \.values, \.baselines, \.receipts, \.marks, \.temporary, \.other] as [WritableKeyPath<Self, ContainerSurvey.Amount>]
        {
            sum[keyPath: kind].files += other[keyPath: kind].files
            sum[keyPath: kind].bytes += other[keyPath: kind].bytes
        }
    }
}
