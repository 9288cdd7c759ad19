internal import StoreFormat
internal import Testing

/// Readers that differ on a crafted signature would show different records, so each answer is pinned.
///
/// Made with a program of its own from RFC 8032 and the edwards25519 curve: the keys with a part of small order are a key
/// plus a point of order 8. The answers are those of a verification without the cofactor that compares R byte by byte,
/// refuses an S that is not below the group order, and reduces the key's y.
struct SigningKeyTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let key, message, signature: String
        let isValid: Bool

        init(_ description: String, _ key: String, _ message: String, _ signature: String, _ isValid: Bool) {
            (testDescription, self.key, self.message, self.signature, self.isValid) = (description, key, message, signature, isValid)
        }
    }

    static let vectors = [
        // RFC 8032, 7.1, tests 1 to 3.
        Vector(
            "RFC 8032, test 1",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
            true),
        Vector(
            "RFC 8032, test 2",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
            true),
        Vector(
            "RFC 8032, test 3",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
            true),
        Vector(
            "an ordinary signature",
            "3105b03bf15ed0d1cccc90a918cc6503718eca6a88b69d95909440971ac1c225", "612073636f7265",
            "d28f4c32addecb3438a7f14e5093cfca109f6880dc0dc78568fa7d76104e639745df37fb2300193794fe0d81bc1021655079273f10edf325b9f691ef697e2d01",
            true),
        Vector(
            "S plus the group order",
            "3105b03bf15ed0d1cccc90a918cc6503718eca6a88b69d95909440971ac1c225", "612073636f7265",
            "d28f4c32addecb3438a7f14e5093cfca109f6880dc0dc78568fa7d76104e639732b32d583e632b8f6a9b05249b0a007a5079273f10edf325b9f691ef697e2d11",
            false),
        Vector(
            "the greatest S in 32 bytes",
            "3105b03bf15ed0d1cccc90a918cc6503718eca6a88b69d95909440971ac1c225", "612073636f7265",
            "d28f4c32addecb3438a7f14e5093cfca109f6880dc0dc78568fa7d76104e6397ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
            false),
        Vector(
            "another message",
            "3105b03bf15ed0d1cccc90a918cc6503718eca6a88b69d95909440971ac1c225", "612073636f7266",
            "d28f4c32addecb3438a7f14e5093cfca109f6880dc0dc78568fa7d76104e639745df37fb2300193794fe0d81bc1021655079273f10edf325b9f691ef697e2d01",
            false),
        Vector(
            "the other sign of R",
            "3105b03bf15ed0d1cccc90a918cc6503718eca6a88b69d95909440971ac1c225", "612073636f7265",
            "d28f4c32addecb3438a7f14e5093cfca109f6880dc0dc78568fa7d76104e631745df37fb2300193794fe0d81bc1021655079273f10edf325b9f691ef697e2d01",
            false),
        Vector(
            "the other sign of the key",
            "3105b03bf15ed0d1cccc90a918cc6503718eca6a88b69d95909440971ac1c2a5", "612073636f7265",
            "d28f4c32addecb3438a7f14e5093cfca109f6880dc0dc78568fa7d76104e639745df37fb2300193794fe0d81bc1021655079273f10edf325b9f691ef697e2d01",
            false),
        Vector(
            "a key with a part of order 8, which the challenge cancels",
            "594578c77ff909da95845e0171f6757e82ab2176c9351605742988c7c26e7686", "6d697865642035",
            "8c920e7dcc6198301d2cc83a91523f51bf2e0314e3515791c8b2fc7d77f382a852eb1eb411195bb30a3752db1e0799559c24f28cb31190612082b4377165070a",
            true),
        Vector(
            "a key with a part of order 8, which only a verification with the cofactor accepts",
            "594578c77ff909da95845e0171f6757e82ab2176c9351605742988c7c26e7686", "6d697865642030",
            "f9771805a0b98a06ee1707c13f09b8143fe2668daae7960c3ac020beee35cbf4d44ae3e1f5fced4f89aac7dfeb7facf701ec6abf624a1674a317fe8bc3ee3607",
            false),
        Vector(
            "R with a part of order 8",
            "3105b03bf15ed0d1cccc90a918cc6503718eca6a88b69d95909440971ac1c225", "746f7273696f6e20696e2052",
            "24261ae5abb5bd8d93fd25520d6070e0cdccae447a08371da8a6e9a04fa0ecf6058a1b59b535130e5bd70cdba31f11b87da32f330f276bdf1446c31ee5a5190d",
            false),
        Vector(
            "the neutral point as key and R, S zero",
            "0100000000000000000000000000000000000000000000000000000000000000", "612073636f7265",
            "01000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
            true),
        Vector(
            "a key of order 8, neutral R, S zero, accepted challenge",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", "736d616c6c2034",
            "01000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
            true),
        Vector(
            "a key of order 8, neutral R, S zero, refused challenge",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", "736d616c6c2030",
            "01000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
            false),
        Vector(
            "a key of order 4, neutral R, S zero, accepted challenge",
            "0000000000000000000000000000000000000000000000000000000000000080", "736d616c6c2030",
            "01000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
            true),
        Vector(
            "a key of order 2, neutral R, S zero, accepted challenge",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "736d616c6c2031",
            "01000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
            true),
        Vector(
            "the neutral point as key, its y written as p + 1",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "612073636f7265",
            "01000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
            true),
        Vector(
            "the neutral point as R, its y written as p + 1",
            "0100000000000000000000000000000000000000000000000000000000000000", "612073636f7265",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f0000000000000000000000000000000000000000000000000000000000000000",
            false),
        Vector(
            "the neutral point as key, with the sign of a negative zero",
            "0100000000000000000000000000000000000000000000000000000000000080", "612073636f7265",
            "01000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
            true),
        Vector(
            "the neutral point as R, with the sign of a negative zero",
            "0100000000000000000000000000000000000000000000000000000000000000", "612073636f7265",
            "01000000000000000000000000000000000000000000000000000000000000800000000000000000000000000000000000000000000000000000000000000000",
            false),
        Vector(
            "a key that is no point of the curve",
            "0200000000000000000000000000000000000000000000000000000000000000", "612073636f7265",
            "d28f4c32addecb3438a7f14e5093cfca109f6880dc0dc78568fa7d76104e639745df37fb2300193794fe0d81bc1021655079273f10edf325b9f691ef697e2d01",
            false),
        Vector(
            "an R that is no point of the curve",
            "3105b03bf15ed0d1cccc90a918cc6503718eca6a88b69d95909440971ac1c225", "612073636f7265",
            "020000000000000000000000000000000000000000000000000000000000000045df37fb2300193794fe0d81bc1021655079273f10edf325b9f691ef697e2d01",
            false),
        Vector(
            "all zeros as key and signature",
            "0000000000000000000000000000000000000000000000000000000000000000", "612073636f7265",
            "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
            false),
    ]

    @Test("P-32: crafted signatures get the pinned answers", arguments: vectors)
    func vectorGetsItsAnswer(_ vector: Vector) throws {
        let key = try #require(PublicKey(bytes: Self.bytes(vector.key)))
        let signature = try #require(Signature(bytes: Self.bytes(vector.signature)))
        #expect(key.isValid(signature, for: Self.bytes(vector.message)) == vector.isValid)
    }

    @Test("A private key makes the signatures of RFC 8032")
    func privateKeySigns() throws {
        let secret = "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7"
        let key = try #require(PrivateKey(bytes: Self.bytes(secret)))
        #expect(key.publicKey.bytes == Self.bytes(Self.vectors[2].key))
        #expect(key.signature(for: [0xaf, 0x82]).bytes == Self.bytes(Self.vectors[2].signature))
    }

    @Test("No description, dump or mirror of a private key shows its bytes")
    func privateKeyIsNotShown() throws {
        let key = PrivateKey()
        var dumped = ""
        dump(key, to: &dumped)
        let hidden = [key.bytes.map { String($0, radix: 16) }.joined(), "\(key.bytes)", Base32.encode(key.bytes), "\(key.bytes[0]), \(key.bytes[1])"]
        for text in [dumped, "\(key)", String(reflecting: key), "\([key])"] {
            for secret in hidden { #expect(!text.contains(secret)) }
        }
    }

    @Test("Two keys differ, and a key's signature is no other key's")
    func keysDiffer() {
        let (first, second) = (PrivateKey(), PrivateKey())
        #expect(first.bytes != second.bytes)
        let message = Array("a score".utf8)
        #expect(first.publicKey.isValid(first.signature(for: message), for: message))
        #expect(!second.publicKey.isValid(first.signature(for: message), for: message))
    }

    @Test(
        "Base 32 has the digits of RFC 4648 and one spelling", arguments: [("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foobar", "mzxw6ytboi")])
    func base32(_ text: String, _ digits: String) {
        #expect(Base32.encode(text.utf8) == digits)
        #expect(Base32.decode(digits) == Array(text.utf8))
    }

    @Test(
        "Base 32 in capitals, with padding, with a digit too many or with bits left over is refused",
        arguments: ["MY", "my======", "mya", "mz", "m", "m1"])
    func malformedBase32(_ digits: String) { #expect(Base32.decode(digits) == nil) }

    static func bytes(_ hexadecimal: String) -> [UInt8] {
        var (bytes, rest) = ([UInt8](), hexadecimal[...])
        while !rest.isEmpty {
            bytes.append(UInt8(rest.prefix(2), radix: 16)!)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
