//! Exchangers: every returned value was offered by a partner that overlaps and got ours.
//!
//! Offers are unique among the remembered operations, so results determine the partners. The rules
//! of the theory (EXCHANGE, MATCH1, INJECTIVE, SYMMETRIC, MATCHOVERLAP, and that no operation is
//! its own partner) are checked one result at a time, exactly. An operation is forgotten when it
//! and its partner have returned.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::{SEEN_BUT_FAILED, Why, unknown_method, unknown_operation};
use crate::theory::Method;
use crate::value::Value;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Partners {
    offers: HashMap<Value, Offer, FixedState>,
    open: HashMap<u64, Value, FixedState>,
}

#[derive(Clone, Debug)]
struct Offer {
    number: u64,
    returned: bool,
    /// The partner's offer, if the partner has returned.
    claimed_by: Option<Value>,
}

impl Partners {
    pub(super) fn call(&mut self, number: u64, method: Method, offer: &Value) -> Result<(), Why> {
        if method != Method::Exchange {
            return Err(unknown_method("exchanger", method));
        }
        let new = Offer { number, returned: false, claimed_by: None };
        if offer.is_nil() || self.offers.insert(offer.clone(), new).is_some() {
            return Err(Why::Unfit(format!(
                "saturation needs every offer to be unique: {offer} is offered twice"
            )));
        }
        self.open.insert(number, offer.clone());
        Ok(())
    }

    pub(super) fn returned(&mut self, number: u64, result: &Value) -> Result<(), Why> {
        let mine = self.open.remove(&number).ok_or_else(|| unknown_operation(number))?;
        let Some(offer) = self.offers.get_mut(&mine) else { return Err(unknown_operation(number)) };
        offer.returned = true;
        match (offer.claimed_by.take(), result) {
            (None, Value::Nil) => {
                self.offers.remove(&mine);
                Ok(())
            }
            (Some(partner), result) if *result == partner => {
                self.offers.remove(&mine);
                self.offers.remove(&partner);
                Ok(())
            }
            (Some(_), _) => Err(Why::Broken(
                "an offer was taken, and who made it did not get the taker's offer",
            )),
            (None, partner) => match self.offers.get_mut(partner) {
                Some(other) if !other.returned && other.claimed_by.is_none() => {
                    other.claimed_by = Some(mine);
                    Ok(())
                }
                _ => Err(Why::Broken(
                    "a value came back that no overlapping operation was free to give",
                )),
            },
        }
    }

    pub(super) fn failed(&mut self, number: u64) -> Result<(), Why> {
        let mine = self.open.remove(&number).ok_or_else(|| unknown_operation(number))?;
        let offer = self.offers.remove(&mine);
        if offer.is_some_and(|offer| offer.claimed_by.is_some()) {
            return Err(SEEN_BUT_FAILED);
        }
        Ok(())
    }

    pub(super) fn numbers(&self) -> Vec<u64> {
        self.offers.values().map(|offer| offer.number).collect()
    }

    pub(super) fn held(&self) -> usize {
        self.offers.len()
    }
}
