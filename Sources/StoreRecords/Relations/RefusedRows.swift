internal import StoreFormat

/// The rows that the schema has refused in one resolution, with the reasons.
///
/// An entity that refers to itself, directly or not, is evaluated again after it is held.
final class RefusedRows {
    private var reasons: [RecordName: [[RecordValue]: String]] = [:]

    /// Returns why the schema has refused a row of an entity, or nil if it has not.
    func reason(_ entity: Entity, _ values: [RecordValue]) -> String? {
        reasons[RecordName(table: entity.table, key: entity.shownKey)]?[values]
    }

    /// Notes that the schema refuses a row of an entity.
    func refuse(_ entity: Entity, _ values: [RecordValue], _ reason: String) {
        reasons[RecordName(table: entity.table, key: entity.shownKey), default: [:]][values] = reason
    }
}
