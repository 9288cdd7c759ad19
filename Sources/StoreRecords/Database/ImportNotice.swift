internal import Foundation
internal import SystemPackage
internal import UbiquityContainers

/// The records that an import touched, never empty; to read them again brings an observer up to date.
public struct ImportNotice: Sendable, Hashable {
    /// The records that were inserted.
    public internal(set) var inserted: Set<ObjectID> = []
    /// The records of which some columns changed.
    public internal(set) var updated: Set<ObjectID> = []
    /// The records that were deleted.
    public internal(set) var deleted: Set<ObjectID> = []

    package init() {}

    /// Whether the import changed nothing.
    package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}

extension ImportNotice {
    /// Adds one change to the earlier ones, so that the three sets describe the import as a whole.
    mutating func add(_ kind: Kind, _ id: ObjectID) {
        switch kind {
        case .insert:
            // A set hashes a member even to find that it is empty.
            if !deleted.isEmpty, deleted.remove(id) != nil { updated.insert(id) } else { inserted.insert(id) }
        case .update:
            if inserted.isEmpty || !inserted.contains(id) { updated.insert(id) }
        case .delete:
            if !updated.isEmpty { updated.remove(id) }
            if inserted.isEmpty || inserted.remove(id) == nil { deleted.insert(id) }
        }
    }

    enum Kind { case insert, update, delete }
}
