import Foundation
import SystemPackage
import Testing
import UbiquityContainers

@testable import UbiquityFoundation

/// Predicate strings over the attributes of items.
@Suite struct MetadataPredicateTests {
    private static let date = Date(timeIntervalSince1970: 1_000_000)
    private let item = NSMetadataItem(
        MetadataItem(
            path: FilePath("/c/Documents/Über Letter.TXT"), size: 1200, contentModificationDate: date, hasUnresolvedConflicts: true))

    private static let table: [(String, [any Sendable], Bool)] = [
        ("TRUEPREDICATE", [], true),
        ("falsepredicate", [], false),
        ("kMDItemFSName == 'Über Letter.TXT'", [], true),
        ("%K == %@", [NSMetadataItemFSNameKey, "Über Letter.TXT"], true),
        ("%K = %@", [NSMetadataItemFSNameKey, "über letter.txt"], false),
        ("%K ==[c] %@", [NSMetadataItemFSNameKey, "über letter.txt"], true),
        ("%K ==[cd] %@", [NSMetadataItemFSNameKey, "uber letter.txt"], true),
        ("%K != %@", [NSMetadataItemFSNameKey, "a"], true),
        ("%K <> 'Über Letter.TXT'", [NSMetadataItemFSNameKey], false),
        ("%K LIKE '*.TXT'", [NSMetadataItemFSNameKey], true),
        ("%K LIKE '*.txt'", [NSMetadataItemFSNameKey], false),
        ("%K like[c] '*.txt'", [NSMetadataItemFSNameKey], true),
        ("%K LIKE[cd] \"uber*\"", [NSMetadataItemFSNameKey], true),
        ("%K LIKE '?ber L?tter.*'", [NSMetadataItemFSNameKey], true),
        ("%K LIKE '*'", [NSMetadataItemFSNameKey], true),
        ("%K LIKE ''", [NSMetadataItemFSNameKey], false),
        ("%K LIKE %@", [NSMetadataItemFSNameKey, "*Letter\\.*"], true),
        ("%K LIKE %@", [NSMetadataItemFSNameKey, "\\*Letter*"], false),
        ("%K BEGINSWITH 'Über'", [NSMetadataItemFSNameKey], true),
        ("%K BEGINSWITH[d] 'Uber'", [NSMetadataItemFSNameKey], true),
        ("%K ENDSWITH '.TXT'", [NSMetadataItemFSNameKey], true),
        ("%K ENDSWITH '.md'", [NSMetadataItemFSNameKey], false),
        ("%K CONTAINS 'Letter'", [NSMetadataItemFSNameKey], true),
        ("%K CONTAINS[c] 'LETTER'", [NSMetadataItemFSNameKey], true),
        ("'Letter' IN %K", [NSMetadataItemFSNameKey], true),
        ("%K IN {'a', 'Über Letter.TXT'}", [NSMetadataItemFSNameKey], true),
        ("%K IN {}", [NSMetadataItemFSNameKey], false),
        ("%K IN %@", [NSMetadataItemFSNameKey, ["a", "b"]], false),
        ("%K IN[c] {'a', 'über letter.txt'}", [NSMetadataItemFSNameKey], true),
        ("kMDItemFSSize > 1000", [], true),
        ("kMDItemFSSize > %d", [1200], false),
        ("kMDItemFSSize >= %ld", [1200], true),
        ("kMDItemFSSize => 1.2e3", [], true),
        ("kMDItemFSSize < -1", [], false),
        ("kMDItemFSSize <= %f", [1200.5], true),
        ("1200 =< kMDItemFSSize", [], true),
        ("kMDItemFSSize IN {1, 2, 1200}", [], true),
        ("kMDItemFSSize > 'a'", [], false),
        ("kMDItemFSSize != 'a'", [], true),
        ("%K > %@", [NSMetadataItemFSContentChangeDateKey, Date(timeIntervalSince1970: 0)], true),
        ("%K == %@", [NSMetadataItemFSContentChangeDateKey, date], true),
        ("%K == TRUE", [NSMetadataUbiquitousItemHasUnresolvedConflictsKey], true),
        ("%K == NO", [NSMetadataUbiquitousItemHasUnresolvedConflictsKey], false),
        ("%K == %@", [NSMetadataUbiquitousItemHasUnresolvedConflictsKey, true], true),
        ("%K == %@", [NSMetadataUbiquitousItemDownloadingStatusKey, NSMetadataUbiquitousItemDownloadingStatusCurrent], true),
        ("%K == %@", [NSMetadataUbiquitousItemDownloadingStatusKey, URLUbiquitousItemDownloadingStatus.notDownloaded], false),
        ("noSuchAttribute == nil", [], true),
        ("noSuchAttribute != NULL", [], false),
        ("noSuchAttribute LIKE '*'", [], false),
        ("kMDItemFSSize > 1 AND kMDItemFSSize < 2", [], false),
        ("kMDItemFSSize > 1 && kMDItemFSSize > 2", [], true),
        ("kMDItemFSSize < 1 OR kMDItemFSSize > 2", [], true),
        ("kMDItemFSSize < 1 || kMDItemFSSize < 2", [], false),
        ("NOT kMDItemFSSize < 1", [], true),
        ("!(kMDItemFSSize > 1)", [], false),
        ("not not TRUEPREDICATE", [], true),
        // AND binds closer than OR.
        ("TRUEPREDICATE OR TRUEPREDICATE AND FALSEPREDICATE", [], true),
        ("(TRUEPREDICATE OR TRUEPREDICATE) AND FALSEPREDICATE", [], false),
        ("%K == 'don\\'t'", [NSMetadataItemFSNameKey], false),
        ("'don\\'t' == \"don't\"", [], true),
        ("  ( ( kMDItemFSName ENDSWITH[c] '.txt' ) )  ", [], true),
    ]

    @Test("D-03: predicates of the grammar hold as in Cocoa", arguments: table.indices)
    func holds(_ index: Int) throws {
        let (format, arguments, expected) = Self.table[index]
        let predicate = try MetadataPredicate(format: format, argumentArray: arguments)
        #expect(predicate.evaluate(with: item) == expected, "\(format)")
    }

    private static let faults: [(String, [any Sendable], Int, String)] = [
        ("", [], 0, "attribute"),
        ("kMDItemFSName", [], 13, "operator"),
        ("kMDItemFSName LIKE", [], 18, "constant"),
        ("kMDItemFSName MATCHES '.*'", [], 14, "operator"),
        ("kMDItemFSName == 'a", [], 18, "closing '"),
        ("kMDItemFSName ==[x] 'a'", [], 17, "[cd]"),
        ("(TRUEPREDICATE", [], 14, "closing parenthesis"),
        ("TRUEPREDICATE)", [], 13, "the end"),
        ("TRUEPREDICATE TRUEPREDICATE", [], 14, "AND"),
        ("TRUEPREDICATE AND", [], 17, "attribute"),
        ("kMDItemFSName == %@", [], 17, "an argument"),
        ("kMDItemFSName == 'a'", ["b"], 20, "a placeholder"),
        ("%K == 'a'", [12], 0, "name of an attribute"),
        ("kMDItemFSSize == %d", ["12"], 17, "a number"),
        ("kMDItemFSSize == %x", [], 17, "%K"),
        ("kMDItemFSName IN {'a'", [], 21, "comma"),
        ("kMDItemFSName IN {{'a'}}", [], 18, "lists"),
        ("kMDItemFSName == @", [], 17, "word"),
        ("AND", [], 0, "attribute"),
    ]

    @Test("D-03: a predicate that cannot be read is refused with the position and what was expected", arguments: faults.indices)
    func refuses(_ index: Int) {
        let (format, arguments, position, expected) = Self.faults[index]
        #expect {
            try MetadataPredicate(format: format, argumentArray: arguments)
        } throws: { error in
            guard let error = error as? MetadataPredicateError else { return false }
            return error.position == position && error.expected.contains(expected) && error.description.contains("character \(position + 1)")
        }
    }

    @Test("a predicate that is nested too deeply is refused, and many stars in a pattern take little time")
    func limits() throws {
        let deep = String(repeating: "(", count: 10_000) + "TRUEPREDICATE" + String(repeating: ")", count: 10_000)
        #expect(throws: MetadataPredicateError.self) { try MetadataPredicate(format: deep) }
        #expect(throws: MetadataPredicateError.self) {
            try MetadataPredicate(format: "kMDItemFSName IN " + String(repeating: "{", count: 10_000))
        }
        let text = Array(String(repeating: "a", count: 1000))
        #expect(!MetadataComparison.isLike(text, Array(String(repeating: "*a", count: 200) + "b")))
        #expect(MetadataComparison.isLike(text, Array(String(repeating: "*a", count: 200) + "*")))
    }

    @Test("D-03: an NSPredicate over items is made from a format, and holds for items alone")
    func foundation() throws {
        let predicate = try NSPredicate(metadataFormat: "%K ENDSWITH %@", NSMetadataItemFSNameKey, ".TXT")
        #expect(predicate.evaluate(with: item))
        #expect(!predicate.evaluate(with: "a.TXT"))
        #expect(throws: MetadataPredicateError.self) { try NSPredicate(metadataFormat: "%K ENDSWITH", NSMetadataItemFSNameKey) }
    }

    @Test("D-03: an item has its attributes under Cocoa's names, and no others")
    func attributes() {
        #expect(item.value(forAttribute: NSMetadataItemFSNameKey) as? String == "Über Letter.TXT")
        #expect(item.value(forAttribute: NSMetadataItemPathKey) as? String == "/c/Documents/Über Letter.TXT")
        #expect((item.value(forAttribute: NSMetadataItemURLKey) as? URL)?.path == "/c/Documents/Über Letter.TXT")
        #expect(item.value(forAttribute: NSMetadataItemFSSizeKey) as? Int == 1200)
        #expect(item.value(forAttribute: NSMetadataItemFSSizeKey) as? Int64 == 1200)
        #expect(item.value(forAttribute: NSMetadataItemFSContentChangeDateKey) as? Date == Self.date)
        #expect(item.value(forAttribute: NSMetadataItemIsUbiquitousKey) as? Bool == true)
        #expect(item.value(forAttribute: NSMetadataUbiquitousItemPercentDownloadedKey) as? Double == 100)
        #expect(item.value(forAttribute: "kMDItemAuthors") == nil)
        #expect(item.attributes.contains(NSMetadataItemFSNameKey) && !item.attributes.contains(NSMetadataUbiquitousItemDownloadingErrorKey))
        let elsewhere = NSMetadataItem(
            MetadataItem(
                path: "/c/Documents/b", isHere: false, state: ItemState(.downloading, progress: TransferProgress(done: 1, total: 4))))
        #expect(
            elsewhere.value(forAttribute: NSMetadataUbiquitousItemDownloadingStatusKey) as? String
                == NSMetadataUbiquitousItemDownloadingStatusNotDownloaded)
        #expect(elsewhere.value(forAttribute: NSMetadataUbiquitousItemIsDownloadingKey) as? Bool == true)
        #expect(elsewhere.value(forAttribute: NSMetadataUbiquitousItemPercentDownloadedKey) as? Double == 25)
        #expect(elsewhere.value(forAttribute: NSMetadataItemFSContentChangeDateKey) == nil)
    }
}
