import Foundation
import SyncthingStatus
import Testing
import UbiquityContainers

/// The code that connects a second device, and the identifiers in it.
struct PairingCodeTests {
    private static let device = "SPPVZN4-HRSWZTH-RQQBMYA-JD3UMTU-5OCPEIR-PJTEVUR-HBMBXIQ-ACKPGAB"

    private static func code(account: String = "alice", folder: String? = nil) throws -> PairingCode {
        let name = try AccountName(account)
        return PairingCode(
            device: try #require(DeviceIdentifier(device)), secret: Array(100..<110), account: name, folder: folder ?? PairingCode.folder(of: name))
    }

    /// The reason why a text is refused; nil if it is a code.
    private static func fault(_ text: String) -> String? {
        do {
            _ = try PairingCode(text)
            return nil
        } catch {
            return error.description
        }
    }

    @Test("a device's identifier is read in any form, and each wrong character is noticed by its check characters")
    func identifiers() throws {
        let identifier = try #require(DeviceIdentifier(Self.device))
        #expect(identifier.description == Self.device && identifier.brief == "SPPVZN4" && identifier.bytes.count == 32)
        #expect(DeviceIdentifier(Self.device.lowercased().replacing("-", with: " ")) == identifier)
        #expect(DeviceIdentifier(Self.device.replacing("O", with: "0").replacing("I", with: "1").replacing("B", with: "8")) == identifier)
        #expect(DeviceIdentifier(bytes: identifier.bytes) == identifier && DeviceIdentifier(bytes: [1, 2, 3]) == nil)
        let plain = Array(Self.device.replacing("-", with: ""))
        for place in plain.indices {
            for character in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" where character != plain[place] {
                var changed = plain
                changed[place] = character
                #expect(DeviceIdentifier(String(changed)) == nil, "\(place) \(character)")
            }
        }
        for text in ["", "-", "SPPVZN4", Self.device + "A", String(Self.device.dropLast()), String(repeating: "é", count: 56)] {
            #expect(DeviceIdentifier(text) == nil, "\(text)")
        }
    }

    @Test("T-43: a code is read in any case, with and without dashes, and any change of a character, or of neighbours, is noticed")
    func typing() throws {
        for (account, folder) in [("alice", nil), ("Alice@Example.org", "abcde-fghij"), (String(repeating: "x", count: 200), nil)] {
            let code = try Self.code(account: account, folder: folder)
            let text = code.description
            #expect(text.hasPrefix("UBQA") && text.split(separator: "-").allSatisfy { $0.count <= 7 })
            let typed = text.dropFirst(4).replacing("O", with: "0").replacing("I", with: "1").replacing("B", with: "8")
            let forms: [String] = [
                text, text.lowercased(), text.replacing("-", with: ""), text.replacing("-", with: " "), " \(text)\n", "UBQA" + typed,
            ]
            for form in forms { #expect(try PairingCode(form) == code, "\(form)") }
        }
        let code = try Self.code()
        let plain = Array(code.description.replacing("-", with: ""))
        for place in plain.indices {
            for character in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" where character != plain[place] {
                var changed = plain
                changed[place] = character
                #expect(Self.fault(String(changed)) != nil, "\(place) \(character)")
            }
            var shorter = plain
            shorter.remove(at: place)
            #expect(Self.fault(String(shorter)) != nil)
            guard place > 0, plain[place] != plain[place - 1] else { continue }
            var swapped = plain
            swapped.swapAt(place, place - 1)
            #expect(Self.fault(String(swapped)) != nil, "\(place)")
        }
    }

    @Test("T-43: whatever is typed is refused in one line or is the code itself, in 200,000 random changes")
    func mutations() throws {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        let code = try Self.code()
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567abcxyz0189- \n=é\u{0}💧")
        let original = Array(code.description)
        for _ in 0..<200_000 {
            var text = original
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let place = Int.random(in: 0..<max(1, text.count), using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0 where !text.isEmpty: text.remove(at: place)
                case 1: text.insert(alphabet.randomElement(using: &generator)!, at: place)
                case 2 where !text.isEmpty: text.swapAt(place, Int.random(in: 0..<text.count, using: &generator))
                case 3: text.removeLast(Int.random(in: 0...min(3, text.count), using: &generator))
                default: if !text.isEmpty { text[place] = alphabet.randomElement(using: &generator)! }
                }
            }
            do {
                #expect(try PairingCode(String(text)) == code, "seed \(seed): \(String(text))")
            } catch {
                #expect(!error.description.contains("\n"), "seed \(seed)")
            }
        }
        for _ in 0..<20_000 {
            let length = Int.random(in: 0...200, using: &generator)
            let text = "UBQA" + String((0..<length).map { _ in alphabet.randomElement(using: &generator)! })
            #expect(Self.fault(text) != nil, "seed \(seed): \(text)")
        }
    }

    @Test("T-43: a code of another version, a device's identifier and something else are each named")
    func others() throws {
        let text = try Self.code().description
        #expect(Self.fault("UBQB" + text.dropFirst(4))?.contains("another version") == true)
        #expect(Self.fault(Self.device)?.contains("identifier of a Syncthing device") == true)
        for text in ["", "hello", "ubq", String(repeating: "A", count: 100_000), "https://example.org"] {
            #expect(Self.fault(text)?.hasPrefix("The") == true || Self.fault(text)?.hasPrefix("This is not a code") == true, "\(text.prefix(40))")
        }
        for length in 4..<text.count {
            let fault = Self.fault(String(text.prefix(length)))
            #expect(fault == "The code is mistyped or incomplete; compare it with the one that the other device shows.", "\(length)")
        }
    }

    @Test("T-44: a proof is good for one code and two devices only, and leaves the name as it was")
    func proofs() throws {
        let code = try Self.code()
        let one = try #require(DeviceIdentifier(bytes: Array(repeating: 1, count: 32)))
        let other = try #require(DeviceIdentifier(bytes: Array(repeating: 2, count: 32)))
        let proof = PairingProof(of: code, by: one)
        let name = proof.tagged("Ann's laptop [new]")
        #expect(proof.isCarried(by: name) && PairingProof.untagged(name) == "Ann's laptop [new]")
        #expect(!PairingProof(of: code, by: other).isCarried(by: name), "seen by another device, which presents it as its own")
        var guessed = code
        guessed.secret[0] ^= 1
        #expect(!PairingProof(of: guessed, by: one).isCarried(by: name))
        var elsewhere = code
        elsewhere.device = other
        #expect(!PairingProof(of: elsewhere, by: one).isCarried(by: name))
        #expect(proof.tagged(name) == name, "a second run")
        for plain in ["", "laptop", "a [join", "[join x"] { #expect(PairingProof.untagged(plain) == plain) }
        #expect(!proof.isCarried(by: "laptop") && !proof.isCarried(by: ""))
    }
}

/// A generator that repeats its numbers for a seed; SplitMix64.
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
