public import Foundation
import UbiquityContainers

/// A predicate over the attributes of items, in the grammar of Cocoa's predicate strings; it stands for `NSPredicate(format:)`.
///
/// ```swift
/// query.predicate = try NSPredicate(metadataFormat: "%K LIKE[cd] '*.txt' AND %K > %d", NSMetadataItemFSNameKey, NSMetadataItemFSSizeKey, 100)
/// ```
///
/// The grammar:
///
/// - comparisons with `==`, `=`, `!=`, `<>`, `<`, `<=`, `=<`, `>`, `>=`, `=>`, `LIKE`, `BEGINSWITH`, `ENDSWITH`, `CONTAINS` and `IN`; `[c]`,
///   `[d]` or `[cd]` behind an operator ignores case and diacritics;
/// - `AND`, `&&`, `OR`, `||`, `NOT`, `!`, parentheses, `TRUEPREDICATE` and `FALSEPREDICATE`;
/// - an attribute: its name, such as `kMDItemFSName`, or `%K` with the name as an argument;
/// - a constant: text in single or double quotes, a number, `TRUE`, `YES`, `FALSE`, `NO`, `NULL`, `NIL`, a list in braces, or an argument
///   with `%@`, `%d`, `%i`, `%u`, `%ld`, `%lu`, `%lld`, `%llu` or `%f`.
///
/// Words are read without regard to case.
public struct MetadataPredicate: Hashable, Sendable {
    indirect enum Node: Hashable, Sendable {
        case constant(Bool)
        case not(Node)
        case all([Node])
        case any([Node])
        case comparison(Operand, MetadataComparison, Operand)
    }

    enum Operand: Hashable, Sendable {
        case attribute(String)
        case value(MetadataValue)
    }

    let root: Node

    /// Reads a predicate.
    ///
    /// - Parameters:
    ///   - format: the predicate.
    ///   - arguments: the arguments of `%K` and `%@`, in order: strings, numbers, dates, URLs and arrays of these.
    /// - Throws: ``MetadataPredicateError``, which tells the position and what was expected there.
    public init(format: String, _ arguments: Any...) throws(MetadataPredicateError) {
        try self.init(format: format, argumentArray: arguments)
    }

    /// Reads a predicate.
    ///
    /// - Parameters:
    ///   - format: the predicate.
    ///   - arguments: the arguments of `%K` and `%@`, in order.
    /// - Throws: ``MetadataPredicateError``.
    public init(format: String, argumentArray arguments: [Any]) throws(MetadataPredicateError) {
        root = try MetadataPredicateParser.parse(format, arguments)
    }

    /// Returns whether an item matches.
    ///
    /// - Parameter item: an item.
    /// - Returns: whether it matches.
    public func evaluate(with item: NSMetadataItem) -> Bool {
        let item = item.item
        return holds(root) { item.value(forAttribute: $0) }
    }

    /// Returns whether the predicate holds for the values of attributes.
    func holds(_ value: (String) -> Any?) -> Bool { holds(root, value) }

    private func holds(_ node: Node, _ value: (String) -> Any?) -> Bool {
        switch node {
        case .constant(let holds): holds
        case .not(let node): !holds(node, value)
        case .all(let nodes): nodes.allSatisfy { holds($0, value) }
        case .any(let nodes): nodes.contains { holds($0, value) }
        case .comparison(let left, let comparison, let right): comparison.holds(operand(left, value), operand(right, value))
        }
    }

    private func operand(_ operand: Operand, _ value: (String) -> Any?) -> MetadataValue {
        switch operand {
        case .attribute(let name): MetadataValue(value(name)) ?? .nothing
        case .value(let value): value
        }
    }
}

/// The reason why a predicate cannot be read.
public struct MetadataPredicateError: Error, Hashable, CustomStringConvertible, Sendable {
    /// The predicate.
    public let format: String
    /// The position of the problem: a number of characters from the beginning of the predicate.
    public let position: Int
    /// What is expected there.
    public let expected: String

    /// The predicate, the position and what is expected there.
    public var description: String {
        let rest = String(format.dropFirst(position).prefix(20))
        return "The predicate \(format.debugDescription) cannot be read at character \(position + 1), "
            + "\(rest.isEmpty ? "its end" : "before \(rest.debugDescription)"): expected \(expected)."
    }
}

extension MetadataPredicateError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension NSPredicate {
    /// Makes a predicate over the attributes of a query's items, as Cocoa's `NSPredicate(format:)` does.
    ///
    /// - Parameters:
    ///   - format: the predicate; ``MetadataPredicate`` describes the grammar.
    ///   - arguments: the arguments of `%K` and `%@`, in order.
    /// - Throws: ``MetadataPredicateError``.
    public convenience init(metadataFormat format: String, _ arguments: Any...) throws {
        self.init(try MetadataPredicate(format: format, argumentArray: arguments))
    }

    /// Makes a predicate over the attributes of a query's items.
    ///
    /// - Parameter predicate: the predicate; it holds for no object that is not an ``NSMetadataItem``.
    public convenience init(_ predicate: MetadataPredicate) {
        self.init(block: { object, _ in (object as? NSMetadataItem).map { predicate.evaluate(with: $0) } ?? false })
    }
}
