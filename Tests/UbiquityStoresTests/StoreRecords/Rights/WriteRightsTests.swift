import Testing

@testable import StoreFormat
@testable import StoreRecords

/// What an account may change, from its rights and the shapes alone.
struct WriteRightsTests {
    private static func shape(_ name: String, _ key: [String], _ access: TableAccess?) -> TableShape {
        var shape = TableShape(number: 1, name: name, keyColumns: key, columns: ["a"])
        shape.access = access
        return shape
    }

    private static let score = shape("score", ["id", "player"], .creator("player"))
    private static let template = shape("template", ["id"], .role("editor"))
    private static let note = shape("note", ["id"], nil)
    private static func text(_ text: String) -> RecordValue { .text(Array(text.utf8)[...]) }
    private static func scoreOf(_ account: AccountIdentifier) -> [RecordValue] { [text("s"), WriteRights.value(of: account)] }

    @Test(
        "P-04: an account may change its own records while it contributes, and those of its roles, and follows each change of its rights",
        arguments: [
            (WriteRights.reading, false, false), (WriteRights(contributes: true, roles: ["editor"]), false, false),
            (WriteRights(account: alice), false, false),
            (.contributor(alice), true, false), (.contributor(bob), false, false), (WriteRights(account: bob, roles: ["editor"]), false, true),
            (.contributor(alice, ["editor"]), true, true), (.contributor(alice, ["Editor", "edit"]), true, false),
        ])
    func rights(rights: WriteRights, own: Bool, curated: Bool) {
        let shapes = [Self.score, Self.template]
        #expect(rights.allows(Self.scoreOf(alice), in: Self.score) == own)
        #expect(rights.allows(ObjectID(table: "score", key: Self.scoreOf(alice)), among: shapes) == own)
        #expect(rights.allows(ObjectID(table: "template", key: [Self.text("t")]), among: shapes) == curated)
        #expect(rights.allowsAny(among: shapes) == (own || curated || rights == .contributor(bob)))
        #expect(rights.allowsAny(among: [Self.template]) == curated)
    }

    @Test("P-04: in a store without a scope everybody may change everything, and in one with a scope what does not sync")
    func withoutScope() {
        #expect(WriteRights.reading.allows(ObjectID(table: "note", key: [Self.text("n")]), among: [Self.note]))
        #expect(WriteRights.reading.allowsAny(among: [Self.note]))
        #expect(WriteRights.reading.allows(ObjectID(table: "local", key: [Self.text("n")]), among: [Self.score]))
        #expect(!WriteRights.reading.allowsAny(among: []))
    }

    @Test("a key of another length, or an account that is no text, is nobody's")
    func oddKeys() {
        let rights = WriteRights.contributor(alice)
        let name = Array(alice.description.utf8)[...]
        for key in [
            [], [Self.text("s")], [Self.text("s"), .blob(name)], [Self.text("s"), .null], [.text(name), Self.text("s")],
            [Self.text("s"), .text(name), .null],
        ] {
            #expect(!rights.allows(key, in: Self.score), "\(key)")
            #expect(Self.score.owner(of: key) == nil, "\(key)")
        }
        #expect(Self.score.owner(of: Self.scoreOf(bob)) == bob && Self.template.owner(of: [Self.text("t")]) == nil)
    }
}
