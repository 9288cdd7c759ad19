internal import StoreFormat

/// The words of registrars, and which accounts may contribute.
struct AdmissionRegister: Sendable {
    private var admittances: [AccountIdentifier: [StatementIdentifier: Signed<Admittance>]] = [:]

    /// All admittances.
    var all: [Signed<Admittance>] { admittances.values.flatMap(\.values) }

    func contains(_ admittance: Signed<Admittance>) -> Bool { admittances[admittance.value.account]?[admittance.id] != nil }

    mutating func insert(_ admittance: Signed<Admittance>) { admittances[admittance.value.account, default: [:]][admittance.id] = admittance }

    /// Returns whether an account may contribute, under the policy in effect.
    ///
    /// A registrar counts if the policy that the admittance names is in effect, or is before it, and names the registrar.
    func admits(_ account: AccountIdentifier, _ policies: PolicyHistory) -> Bool {
        guard let policy = policies.current?.value else { return false }
        if policy.admission == .open || policies.pinned.contains(account) { return true }
        return admittances[account]?.values.contains { admittance in
            guard policies.ancestry.contains(admittance.value.policy) else { return false }
            guard case .registrars(let keys)? = policies.policies[admittance.value.policy]?.value.admission else { return false }
            return keys.contains(admittance.signer)
        } ?? false
    }
}
