import Foundation
import GRDB
import UbiquityStores

@testable import StoreFormat
@testable import StoreRecords

extension ObjectID {
    /// The person with a key.
    static func person(_ key: String) -> ObjectID { ObjectID(table: "person", key: [.text(key)]) }
}

extension StoreChanges {
    /// Each change in words, such as `+person/a`, `~person/a first,last`, `-person/a` and `*person`.
    var words: [String] {
        changes.map { change in
            switch change {
            case .inserted(let record): "+\(record)"
            case .updated(let record, let columns): "~\(record) \(columns.joined(separator: ","))"
            case .deleted(let record): "-\(record)"
            case .wholeTable(let table): "*\(table)"
            }
        }
    }
}
