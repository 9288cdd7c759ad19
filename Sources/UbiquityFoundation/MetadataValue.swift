import Foundation

/// A value of an attribute, or a constant in a predicate.
enum MetadataValue: Hashable, Sendable {
    case nothing
    case text(String)
    case number(Double)
    case date(Date)
    case list([MetadataValue])

    /// Makes a value from what Cocoa's names give; nil for a value of another type.
    init?(_ value: Any?) {
        switch value {
        case nil: self = .nothing
        case is NSNull: self = .nothing
        case let value as URLUbiquitousItemDownloadingStatus: self = .text(value.rawValue)
        case let value as Date: self = .date(value)
        case let value as NSDate: self = .date(Date(timeIntervalSinceReferenceDate: value.timeIntervalSinceReferenceDate))
        case let value as URL: self = .text(value.absoluteString)
        case let value as NSURL: self = .text(value.absoluteString)
        case let value as String: self = .text(value)
        case let value as NSString: self = .text("\(value)")
        case let value as NSNumber: self = .number(value.doubleValue)
        case let value as [Any]: self.init(list: value)
        case let value as NSArray: self.init(list: value.map { $0 })
        default: return nil
        }
    }

    private init?(list: [Any]) {
        var values: [MetadataValue] = []
        for value in list {
            guard let value = MetadataValue(value) else { return nil }
            values.append(value)
        }
        self = .list(values)
    }

    /// Returns whether this value comes before another; values of two types are ordered by their types, missing ones first.
    func isBefore(_ other: MetadataValue) -> Bool {
        switch (self, other) {
        case (.text(let first), .text(let second)): first < second
        case (.number(let first), .number(let second)): first < second
        case (.date(let first), .date(let second)): first < second
        default: rank < other.rank
        }
    }

    private var rank: Int {
        switch self {
        case .nothing: 0
        case .number: 1
        case .date: 2
        case .text: 3
        case .list: 4
        }
    }
}
